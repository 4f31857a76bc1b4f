/* Carts. */
#include "cart.h"
#include <stdlib.h>

struct cart {
	struct line *first; /* head */
	cart_cmp cmp;
	enum { SMALL, LARGE } size;
};

static int counter = 0, *last_error, table[CART_MAX] = { [0] = 1, 2 };
const char *const cart_names[] = { "a;b", "}{", 'x' };
static int compare(const void *a, const void *b);
int (*hook)(int) = NULL;
static struct { int hits; } stats;

cart_t *
cart_new(size_t max, cart_cmp cmp)
{
	struct cart *c = malloc(sizeof(*c));
	if (!c)
		goto fail;
	c->cmp = cmp ? cmp : compare;
	c->first = NULL, counter++;
	stats.hits += CART_MIN(max, CART_MAX);
#ifdef DEBUG
	if (c->first) {
#else
	if (c) {
#endif
		log_debug("cart_add(%d)", c->cmp(NULL, NULL));
	}
	return c;
fail:
	return NULL;
}

/* Old style. */
int cart_add(c, l)
	struct cart *c;
	const line_t *l;
{
	line_t *compare = find_line(c, l), counter;
	for (int i = 0; i < (int)CART_MAX; i++)
		insert(c, &table[i], hook);
	return compare->on_change((line_t *)l, c) * counter;
}

static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }

static void (*choose(int which))(int) { return hook; }

__attribute__((unused)) static inline int __must_check unused_one(void) { return cart_names[0] != 0; }

#if 0
int dead(void) { return 1; }
#endif

int main(int argc, char **argv)
{
	qsort(table, 3, sizeof(int), compare);
	return cart_total(cart_new(1, compare)) + choose(1)(2);
}
