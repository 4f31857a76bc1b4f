package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
)

// vocabulary holds words that no stemmer maps to the same stem.
var vocabulary = strings.Fields("amber birch copper delta falcon garnet harbor indigo")

// modelClaim is a claim in the model.
type modelClaim struct {
	id, key      string
	words        []string
	status       ken.Status
	supersedes   string
	supersededBy string
	events       []ken.EventType
}

// model is a minimal implementation of a store's rules: a list, and loops over it.
type model struct {
	claims []*modelClaim
}

func (m *model) byKey(key string) *modelClaim {
	for _, c := range m.claims {
		if key != "" && c.key == key {
			return c
		}
	}
	return nil
}

func (m *model) find(word string, statuses []ken.Status) []string {
	var out []string
	for _, c := range m.claims {
		if slices.Contains(statuses, c.status) && (word == "" || slices.Contains(c.words, word)) {
			out = append(out, c.id)
		}
	}
	return out
}

// replaced reports whether following successors from c leads to target.
func (m *model) replaced(c, target *modelClaim) bool {
	for c != nil {
		if c == target {
			return true
		}
		i := slices.IndexFunc(m.claims, func(o *modelClaim) bool { return o.id == c.supersededBy })
		if i < 0 {
			return false
		}
		c = m.claims[i]
	}
	return false
}

// testModel makes random changes to the store and to the model, and compares them. Set
// KEN_SEED to the number that a failure prints to repeat it.
func testModel(k *kit) {
	number := seed.Of(k)
	r := rand.New(rand.NewPCG(number, 0))
	m := &model{}
	for step := range 300 {
		var did string
		switch n := r.IntN(10); {
		case n < 4 || len(m.claims) < 2:
			did = m.write(k, r)
		case n < 6:
			did = m.transition(k, r)
		case n < 8:
			did = m.supersede(k, r)
		default:
			did = m.query(k, r)
		}
		if k.Failed() {
			k.Fatalf("step %d of number %d: %s", step, number, did)
		}
	}
	for _, c := range m.claims {
		got := k.get(c.id)
		if got.Status != c.status || got.Supersedes != c.supersedes || got.SupersededBy != c.supersededBy ||
			got.Text != strings.Join(c.words, " ") || !slices.Equal(k.historyTypes(c.id), c.events) {
			k.Errorf("number %d: store has %+v with %v\nmodel has %+v", number, got, k.historyTypes(c.id), *c)
		}
	}
}

func (m *model) write(k *kit, r *rand.Rand) string {
	words := make([]string, 1+r.IntN(3))
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	text := strings.Join(words, " ")
	c := claim(text)
	if r.IntN(2) == 0 {
		c.Key = "key " + strconv.Itoa(r.IntN(12))
	}
	id, err := k.s.WriteClaim(k.ctx, c)
	did := fmt.Sprintf("write %q with key %q: %s, %v", text, c.Key, id, err)
	if err != nil {
		k.Error(did)
		return did
	}
	have := m.byKey(c.Key)
	switch {
	case have == nil:
		m.claims = append(m.claims, &modelClaim{id: id, key: c.Key, words: words, status: ken.StatusObserved,
			events: []ken.EventType{ken.EventWritten}})
	case have.id != id:
		k.Errorf("the key is that of %s", have.id)
	case !slices.Equal(have.words, words):
		have.words = words
		if have.status != ken.StatusSuperseded { // status and evidence of the old text are dropped
			have.status = ken.StatusObserved
		}
		have.events = append(have.events, ken.EventRevised)
	}
	return did
}

func (m *model) transition(k *kit, r *rand.Rand) string {
	c := m.claims[r.IntN(len(m.claims))]
	to := ken.Statuses()[r.IntN(len(ken.Statuses()))]
	err := k.s.Transition(k.ctx, ken.Transition{ID: c.id, To: to})
	did := fmt.Sprintf("transition %s from %s to %s: %v", c.id, c.status, to, err)
	if allowed := ken.CheckTransition(c.status, to, "") == nil; allowed != (err == nil) {
		k.Errorf("allowed %v", allowed)
	} else if allowed {
		c.status = to
		c.events = append(c.events, ken.EventTransitioned)
	}
	return did
}

func (m *model) supersede(k *kit, r *rand.Rand) string {
	old, next := m.claims[r.IntN(len(m.claims))], m.claims[r.IntN(len(m.claims))]
	err := k.s.Supersede(k.ctx, old.id, next.id)
	did := fmt.Sprintf("supersede %s by %s: %v", old.id, next.id, err)
	repeated := old != next && old.supersededBy == next.id
	allowed := repeated || old.status != ken.StatusSuperseded && !m.replaced(next, old)
	if allowed != (err == nil) {
		k.Errorf("allowed %v", allowed)
	} else if allowed && !repeated {
		old.status, old.supersededBy, next.supersedes = ken.StatusSuperseded, next.id, old.id
		old.events = append(old.events, ken.EventSuperseded)
		next.events = append(next.events, ken.EventSuperseded)
	}
	return did
}

func (m *model) query(k *kit, r *rand.Rand) string {
	word := append(vocabulary, "")[r.IntN(len(vocabulary)+1)]
	statuses := ken.RecallStatuses()
	if r.IntN(2) == 0 {
		statuses = []ken.Status{ken.Statuses()[r.IntN(len(ken.Statuses()))]}
	}
	got := ids(k.query(ken.Query{Question: word, Filter: ken.Filter{Statuses: statuses}, Limit: many}))
	want := m.find(word, statuses)
	if !sameSet(got, want) {
		k.Errorf("got %v\nwant %v", got, want)
	}
	return fmt.Sprintf("query %q for %v", word, statuses)
}
