package facet

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
)

// Names lists the facets, in their order.
func Names() []string { return names[:] }

func TestSlotsAreUsedAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	tab, want := newTable(), map[uuid.UUID]string{}
	for range 20_000 {
		// Few ids, most of them alike.
		id := uuid.UUID{0: byte(rng.IntN(2)), 7: byte(rng.IntN(3)), 15: byte(rng.IntN(100))}
		if rng.IntN(2) == 0 {
			session := string('a' + rune(rng.IntN(26)))
			tab.put(&ken.Claim{ID: id.String(), Status: ken.StatusObserved, Session: session})
			want[id] = session
		} else {
			tab.remove(id)
			delete(want, id)
		}
		if len(tab.slots) != len(want) {
			t.Fatalf("%d claims, want %d", len(tab.slots), len(want))
		}
	}
	for id, session := range want {
		slot, ok := tab.slots[id]
		if w := tab.words[fSession]; !ok || w.names[w.of[slot]] != session {
			t.Errorf("%s: %v", id, ok)
		}
	}
	if n := len(tab.ids); n > 600 {
		t.Errorf("%d slots for at most 600 claims", n)
	}
}

func TestAValueGoesWithItsLastClaim(t *testing.T) {
	tab := newTable()
	c := ken.Claim{ID: uuid.NewString(), Kind: ken.KindFact, Status: ken.StatusObserved, Session: "secret", Tags: []string{"secret", "open", "open"},
		Entities: []string{"The Secret", "secret", "Open"}, Evidence: []ken.Evidence{{Path: "secret"}}}
	tab.put(&c)
	other := c
	other.ID, other.Session, other.Tags, other.Entities, other.Evidence = uuid.NewString(), "", []string{"open"}, []string{"open"}, nil
	tab.put(&other)
	for range 10_000 { // repeated writes of one claim must not use up memory
		tab.put(&c)
	}
	if n := len(tab.lists[fTag].all); n > 10_000 {
		t.Errorf("%d numbers for three tags", n)
	}
	tab.remove(uuid.MustParse(c.ID))
	for f := range facets {
		for _, d := range []*dictionary{wordsOf(tab, f), listsOf(tab, f)} {
			if d == nil {
				continue
			}
			if _, ok := d.codes["secret"]; ok {
				t.Errorf("%s: still known", names[f])
			}
			for _, n := range d.names {
				if n == "secret" || n == "The Secret" {
					t.Errorf("%s: %q is still there", names[f], n)
				}
			}
		}
	}
	if code, ok := tab.lists[fTag].find("open"); !ok || tab.lists[fTag].uses[code] != 1 {
		t.Error("the other's tag is gone")
	}
}

func wordsOf(t *table, f int) *dictionary {
	if t.words[f] == nil {
		return nil
	}
	return &t.words[f].dictionary
}

func listsOf(t *table, f int) *dictionary {
	if t.lists[f] == nil {
		return nil
	}
	return &t.lists[f].dictionary
}
