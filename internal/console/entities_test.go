package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// named are the entities or symbols that a list has, by their links' texts.
func named(p *page) []string { return p.texts("tr[data-item] th a") }

func TestEntitiesAreListed(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities")
	if have := named(p); len(have) < 20 || !slices.Contains(have, "Payments") || !slices.Contains(have, "On call") {
		t.Errorf("listed: %q", have)
	}
	if !p.links("/console/entities/on%20call") || !p.links("/console/tasks") {
		t.Errorf("no links to entities or tasks: %s", p.body)
	}
	for _, row := range p.texts("tr[data-item]") {
		if strings.HasPrefix(row, "Ledger ") && !strings.HasPrefix(row, "Ledger system 15 2") {
			t.Errorf("the ledger's row is %q", row)
		}
	}
	if slices.ContainsFunc(named(p), func(s string) bool { return strings.HasPrefix(s, "T-0") }) {
		t.Errorf("tasks are among the entities: %q", named(p))
	}
}

func TestEntitiesAreFound(t *testing.T) {
	c := open(t)
	for _, tc := range []struct {
		query, first, says string
		many               bool
	}{
		{"q=pay", "Payments", "another name of payments", true},
		{"q=paymentsd", "paymentsd", "another name of payments", true},
		{"q=setlement", "Settlement", "spelled much like it", true},
		{"q=xylophone", "", "No entity has such a name", false},
		{"q=" + strings.Repeat("%E2%80%AE", 9), "", "No entity has such a name", false},
		{"type=person", "Ana", "3 entities", true},
		{"type=person&q=Tom", "Tom", "1 entity", false},
		{"type=skill", "", "Nothing was described as being of this type", false},
		{"type=<script>", "Bank", "entities", true},
	} {
		status, p := get(t, c, "/console/entities?"+tc.query)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", tc.query, status, p.text())
		}
		p.says(tc.says)
		have := named(p)
		if tc.first == "" && len(have) > 0 || tc.first != "" && (len(have) == 0 || have[0] != tc.first) {
			t.Errorf("%s finds %q, want first %q", tc.query, have, tc.first)
		}
		p.hides("<script>alert")
	}
	status, p := get(t, c, "/console/entities?q="+strings.Repeat("long", 100))
	if status != http.StatusBadRequest {
		t.Errorf("a name that is too long: %d %s", status, p.text())
	}
}

// A list of several pages has each entity once.
func TestEntitiesHavePages(t *testing.T) {
	c := open(t, bare)
	for i := range 60 {
		c.learn("", fmt.Sprintf("Gadget %d works.", i), func(k *ken.Claim) { k.Entities = []string{fmt.Sprintf("gadget %d", i)} })
	}
	seen := map[string]int{}
	pages := 0
	for at := "/console/entities?q=gadget"; at != "" && pages < 5; pages++ {
		_, p := get(t, c, at)
		p.says("60 entities")
		for _, n := range named(p) {
			seen[n]++
		}
		at = ""
		if more := p.all(".more a"); len(more) == 1 {
			at = attr(more[0], "href")
		}
	}
	if len(seen) != 60 || pages != 2 {
		t.Errorf("%d entities on %d pages", len(seen), pages)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", n, times)
		}
	}
}

func TestNoEntities(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/entities")
	p.says("Nothing is known of anything yet")
	_, p = get(t, c, "/console/tasks")
	p.says("There is no such task")
}

func TestEntitiesAreTheOwners(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities", bob)
	p.hides(consoletest.OwnWord, "Settlement")
	if !p.links("/console/entities/" + consoletest.BobWord) {
		t.Errorf("bob does not see his own: %q", named(p))
	}
	_, p = get(t, c, "/console/entities")
	p.hides(consoletest.BobWord)
	if status, p := get(t, c, "/console/entities/"+consoletest.BobWord); status != http.StatusNotFound {
		t.Errorf("an entity of bob's: %d %s", status, p.text())
	}
	_, p = get(t, c, "/console/entities/payments", bob)
	p.hides(consoletest.OwnWord, "moves money")
	_, p = get(t, c, "/console/tasks", bob)
	p.says("There is no such task")
}

func TestANewEntityIsDescribed(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/entities")
	status, p := submit(t, c, p, `form[action="/console/entities"][method="post"]`, map[string]string{"name": "Money Mover", "type": "system", "text": "Money Mover: moves it"})
	if status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/console/entities/Money%20Mover?did=") {
		t.Fatalf("%d to %q: %s", status, p.location, p.text())
	}
	_, p = get(t, c, p.location)
	p.says("Money Mover", "moves it", "system", "Described, on your word.")
	if status, p := post(t, c, "/console/entities", url.Values{"name": {"x"}, "type": {"spaceship"}}); status != http.StatusBadRequest {
		t.Errorf("a type that there is not: %d %s", status, p.text())
	}
	if _, p := get(t, c, "/console/entities", reader); p.has(`main form[method="post"]`) {
		t.Error("who may only read has a form that changes something")
	}
}

func TestTasksAreListed(t *testing.T) {
	c := open(t)
	for query, want := range map[string][]string{
		"":                 {"T-0003", "T-0002", "T-0001"},
		"?state=all":       {"T-0005", "T-0004", "T-0003", "T-0002", "T-0001"},
		"?state=done":      {"T-0004"},
		"?state=blocked":   {"T-0003"},
		"?state=cancelled": {"T-0005"},
		"?state=nonsense":  {"T-0003", "T-0002", "T-0001"},
		"?before=3":        {"T-0002", "T-0001"},
	} {
		_, p := get(t, c, "/console/tasks"+query)
		if have := p.texts("li[data-item] h2 code"); !slices.Equal(have, want) {
			t.Errorf("%q lists %q, want %q", query, have, want)
		}
	}
	_, p := get(t, c, "/console/tasks")
	p.says("in progress", "blocked", "settlement", "Ask the bank about Sundays")
	if !p.links("/console/entities/postgres") {
		t.Error("a task does not lead to what it is about")
	}
}
