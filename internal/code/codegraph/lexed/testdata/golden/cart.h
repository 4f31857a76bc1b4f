#ifndef CART_H
#define CART_H

#include <stddef.h>
#include "pricing.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most lines of a cart. */
#define CART_MAX 10
#define CART_MIN(a, b) \
	((a) < (b) ? (a) : (b))
#define API __attribute__((visibility("default")))

struct cart;
typedef struct cart cart_t, *cart_ptr;
typedef int (*cart_cmp)(const struct line *a, const struct line *b);
typedef unsigned long cart_id;
typedef enum { CART_OPEN, CART_CLOSED = 3, /**< Nothing can be added. */ } cart_state;

/*! \brief One line. It is small. */
typedef struct line {
	char name[32]; /**< As printed. */
	unsigned count : 4, taxed : 1;
	double *price;
	int (*on_change)(struct line *self, void *arg);
	union { int i; float f; };
	struct { int x, y; } place;
	struct line *next;
} line_t;

/// Makes a cart.
API cart_t *cart_new(size_t max, cart_cmp cmp);
extern int cart_add(struct cart *c, const line_t *l);
int cart_total(const cart_t *c), cart_count(const cart_t *c);
static inline int cart_is_empty(const cart_t *c) { return cart_count(c) == 0; }
extern const char *const cart_names[];

#ifdef __cplusplus
}
#endif
#endif
