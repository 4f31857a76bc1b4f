package console

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// picture is a turn's receipt as pages show it: of a turn that was, or of one that is
// only tried.
type picture struct {
	Receipt *ken.Receipt
	Items   []shownItem
	Cuts    []cutGroup
	Fusion  *drawing
	Bytes   *drawing
	Time    spent
	Faults  []fault
	Taints  []shownTaint
	Memory  int // items that are in every turn
	Tried   bool
}

// shownItem is an item of a block.
type shownItem struct {
	middleware.KeptItem
	Place  int
	Label  string // a few words for it
	Cut    bool   // it says more than its label does
	Path   string // of its own page; "" for none
	Says   string // what became of it since
	Now    *row   // the claim as it stands; nil for what is none
	Found  []foundBy
	Parts  []namedPart // of what the ranker counted
	Marks  []mark
	Decide bool // a person can decide about it
}

// foundBy is where a leg had an item.
type foundBy struct {
	Leg  string
	Rank int
}

type namedPart struct {
	Name  string
	Value float64
}

// cutGroup is what was cut for one reason: the first of it, and some of the rest.
type cutGroup struct {
	Reason      ken.CutReason
	Says        string
	Count       int
	First, Rest []cutItem
	More        int // that are not listed
}

type cutItem struct{ ID, Label, Path, Detail string }

// shownTaint is a tool call that repeats what an external claim said.
type shownTaint struct {
	ken.Taint
	Label, Path string
}

// Of what was cut for a reason, so many are shown, and so many more unfolded.
const (
	firstCuts = 3
	restCuts  = 12
)

// picture looks up what a receipt names by ids. Items carry their words already.
func (v *visit) picture(s store.Engine, r *ken.Receipt, items []middleware.KeptItem, used []ken.Use) (picture, error) {
	p := picture{Receipt: r, Faults: faults(r.Degraded), Bytes: cachedParts(r), Time: timed(r)}
	k := lookup{v: v, s: s, labels: map[string]cutItem{}}
	for i := range items {
		it := k.item(&items[i], i+1, r.Session)
		for _, u := range used {
			if u.ID == it.ID {
				it.Marks = useMarks(u)
			}
		}
		if it.Memory {
			p.Memory++
		}
		k.labels[it.ID] = cutItem{ID: it.ID, Label: it.Label, Path: "#c-" + it.ID}
		p.Items = append(p.Items, it)
	}
	p.Cuts = k.cuts(r.Cut)
	p.Fusion = fusion(fusedList(r), func(id string) (string, string) {
		c := k.label(id)
		return c.Label, c.Path
	})
	for _, t := range r.Taint {
		c := k.label(t.Claim)
		p.Taints = append(p.Taints, shownTaint{t, c.Label, c.Path})
	}
	return p, k.err
}

// pictureOf is the picture of a turn that was tried: its items have the words that they
// have in the block.
func (v *visit) pictureOf(s store.Engine, r *ken.Receipt) (picture, error) {
	items := make([]middleware.KeptItem, len(r.Items))
	for i := range r.Items {
		items[i] = middleware.KeptItem{Item: r.Items[i], State: middleware.ItemSame}
	}
	p, err := v.picture(s, r, items, nil)
	p.Tried = true
	return p, err
}

// lookup reads what ids stand for, each once.
type lookup struct {
	v      *visit
	s      store.Engine
	labels map[string]cutItem
	err    error
}

// item shows an item of a block.
func (k *lookup) item(kept *middleware.KeptItem, place int, session string) shownItem {
	it := shownItem{KeptItem: *kept, Place: place, Says: stateWords[kept.State], Label: labelled(kept.Heading, kept.Text)}
	for _, leg := range legOrder {
		if s, ok := kept.Legs[leg]; ok {
			it.Found = append(it.Found, foundBy{leg, s.Rank})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept.Signals)) {
		it.Parts = append(it.Parts, namedPart{name, kept.Signals[name]})
	}
	switch kept.Kind {
	case budgeter.KindSymbol:
		it.Path = pathOf("code", "symbol") + "?id=" + escapeQuery(kept.ID)
		it.Label = cmp.Or(it.Label, kept.ID)
	case budgeter.KindObjectives:
		it.Path, it.Label = pathOf("objectives"), cmp.Or(it.Label, "The project’s objectives")
	case budgeter.KindCheckpoint:
		if session != "" {
			it.Path = pathOf("sessions", session)
		}
		it.Label = cmp.Or(it.Label, "Where the session stood")
	default:
		k.stands(&it)
	}
	it.Cut = strings.HasSuffix(it.Label, "…")
	if it.State == middleware.ItemForgotten {
		it.Label = "Forgotten"
	}
	it.Label = cmp.Or(it.Label, "item "+shortID(it.ID))
	return it
}

// stands looks up how the claim of an item stands now.
func (k *lookup) stands(it *shownItem) {
	c, err := k.v.view(k.v.ctx(), k.s, it.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		if it.Kind == ken.KindDecision && it.State != middleware.ItemForgotten { // a file of the project says so
			it.Path = pathOf("decisions")
		}
		return
	case err != nil:
		k.err = err
		return
	}
	now := rowOf(&c, k.v.now())
	it.Path, it.Now = pathOf("claims", it.ID), &now
	it.Decide = c.Kind != ken.KindDocument && c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded
}

// label is an item by its id, with its own page.
func (k *lookup) label(id string) cutItem {
	if c, ok := k.labels[id]; ok {
		return c
	}
	c := cutItem{ID: id, Label: id}
	claim, err := k.s.Get(k.v.ctx(), id)
	switch {
	case err == nil:
		c.Label, c.Path = cmp.Or(labelled(claim.Heading, claim.Text), id), pathOf("claims", id)
	case !errors.Is(err, ken.ErrNotFound):
		k.err = err
	case strings.Count(id, "-") == 4: // a claim's id
		c.Label = "a claim that is gone (" + shortID(id) + ")"
	}
	k.labels[id] = c
	return c
}

// cuts groups what was left out by why.
func (k *lookup) cuts(cuts []ken.Cut) (out []cutGroup) {
	by := map[ken.CutReason][]ken.Cut{}
	for _, c := range cuts {
		by[c.Reason] = append(by[c.Reason], c)
	}
	for _, w := range cutWords {
		of := by[w.reason]
		if len(of) == 0 {
			continue
		}
		g := cutGroup{Reason: w.reason, Says: w.says, Count: len(of), More: max(len(of)-firstCuts-restCuts, 0)}
		for i, c := range of[:min(len(of), firstCuts+restCuts)] {
			item := k.label(c.ID)
			item.Detail = c.Detail
			if other := k.labels[c.Detail]; c.Reason == ken.CutDuplicate && other.ID != "" {
				item.Detail = "as " + other.Label + " says"
			}
			if i < firstCuts {
				g.First = append(g.First, item)
			} else {
				g.Rest = append(g.Rest, item)
			}
		}
		out = append(out, g)
	}
	return out
}

// labelled are a few words for a text: its heading, or how it begins.
func labelled(heading, text string) string {
	const most = 120
	s := heading
	if s == "" {
		s = text[:min(len(text), 8*most)]
	}
	words := strings.Fields(strings.ToValidUTF8(s, ""))
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}
