package outline_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// model is the index as its contract reads: a list, and loops over it.
type model struct {
	records map[store.Ref]outline.Record
	hidden  map[store.Ref]bool
}

func (m *model) carries(name string) (out []outline.Record) {
	for _, r := range m.records {
		if !m.hidden[r.Ref] && (slices.Contains(r.Names, name) || name == "" && len(r.Names) == 0 && r.Constraint && !r.Kind.Structural()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b outline.Record) int {
		return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out
}

func (m *model) outline(name string, o store.OutlineOptions) store.Outline {
	out := store.Outline{Name: name}
	all := m.carries(name)
	out.Records = len(all)
	aspects := map[string]*store.AspectOutline{}
	others := map[string]map[string]bool{}
	for _, r := range all {
		if r.Kind.Structural() {
			continue
		}
		if r.Constraint {
			out.Constraints = append(out.Constraints, r.Ref)
		}
		if len(r.Names) == 0 || r.Names[0] != name {
			continue
		}
		a := aspects[r.Aspect]
		if a == nil {
			a = &store.AspectOutline{Name: r.Aspect}
			aspects[r.Aspect], others[r.Aspect] = a, map[string]bool{}
		}
		a.Claims++
		for _, n := range r.Names[1:] {
			others[r.Aspect][n] = true
		}
		a.Others = len(others[r.Aspect])
		if r.Constraint {
			a.Constraints++
		} else if len(a.Top) < o.Top {
			a.Top = append(a.Top, r.Ref)
		}
	}
	slices.SortStableFunc(all, func(a, b outline.Record) int {
		return cmp.Or(cmp.Compare(b.Strength, a.Strength), cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	for _, kind := range []ken.Kind{ken.KindEntity, ken.KindDependency, ken.KindAlias} {
		n := 0
		for _, r := range all {
			if r.Kind == kind && n < o.Links {
				n++
				out.Links = append(out.Links, store.Link{Ref: r.Ref, Kind: kind, Names: r.Names, Type: r.Aspect, Strength: r.Strength})
			}
		}
	}
	most := slices.SortedFunc(maps.Values(aspects), func(a, b *store.AspectOutline) int {
		return cmp.Or(cmp.Compare(b.Claims, a.Claims), cmp.Compare(a.Name, b.Name))
	})
	most = most[:min(len(most), o.Aspects)]
	slices.SortFunc(most, func(a, b *store.AspectOutline) int { return cmp.Compare(a.Name, b.Name) })
	for _, a := range most {
		out.Aspects = append(out.Aspects, *a)
	}
	return out
}

func (m *model) names() (out []store.NameCount) {
	counts := map[string]*store.NameCount{}
	for _, r := range m.records {
		if m.hidden[r.Ref] {
			continue
		}
		for i, n := range r.Names {
			if counts[n] == nil {
				counts[n] = &store.NameCount{Name: n}
			}
			counts[n].Records++
			if i == 0 {
				counts[n].Primary++
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, *counts[n])
	}
	return out
}

func (m *model) pass() outline.Pass {
	shown := func(ref store.Ref) bool { return !m.hidden[ref] }
	return outline.Pass{Claim: shown, Link: shown}
}

func random(r *rand.Rand, ref store.Ref) outline.Record {
	kinds := []ken.Kind{ken.KindFact, ken.KindFact, ken.KindFact, ken.KindDecision, ken.KindEntity, ken.KindDependency, ken.KindAlias}
	out := outline.Record{Ref: ref, Kind: kinds[r.IntN(len(kinds))], Tier: ken.Tier(r.IntN(4)), Created: int64(r.IntN(5)), Constraint: r.IntN(3) == 0,
		About: outline.About{Aspect: []string{"", "a", "b", "c"}[r.IntN(4)], Strength: float64(r.IntN(3)) / 2}}
	for i := range out.ID {
		out.ID[i] = byte(r.Uint32())
	}
	for range r.IntN(6) {
		if n := "n" + strconv.Itoa(r.IntN(8)); !slices.Contains(out.Names, n) {
			out.Names = append(out.Names, n)
		}
	}
	return out
}

// The index says what a list of the records would say, whatever was put, changed and
// taken out before, and however it was filled.
func TestIndexSaysWhatAListWould(t *testing.T) {
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	x := outline.New()
	m := &model{records: map[store.Ref]outline.Record{}, hidden: map[store.Ref]bool{}}
	o := store.OutlineOptions{Aspects: 2, Top: 3, Links: 4}
	for step := range 400 {
		for range 1 + r.IntN(8) {
			ref := store.Ref(r.IntN(80))
			switch r.IntN(6) {
			case 0:
				x.Remove(ref)
				delete(m.records, ref)
			case 1:
				m.hidden[ref] = !m.hidden[ref]
			default:
				rec := random(r, ref)
				x.Put(rec)
				m.records[ref] = rec
			}
		}
		if step%100 == 50 { // as a store does on opening
			x = outline.New()
			x.Load(maps.Values(m.records))
		}
		ask := []string{"", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "nobody"}
		got := x.Outlines(ask, m.pass(), o)
		for i, name := range ask {
			if diff := gocmp.Diff(m.outline(name, o), got[i]); diff != "" {
				t.Fatalf("number %d, step %d, %q (-want +got):\n%s", number, step, name, diff)
			}
			want := name != "" && len(m.carries(name)) > 0
			if got := x.Known(name, m.pass().Claim); got != want {
				t.Fatalf("number %d, step %d: %q known %v, want %v", number, step, name, got, want)
			}
		}
		var names []store.NameCount
		for after, more := "", true; more; {
			var page []store.NameCount
			page, more = x.Names(m.pass(), after, 3)
			if names = append(names, page...); more {
				after = page[len(page)-1].Name
			}
		}
		if diff := gocmp.Diff(m.names(), names); diff != "" {
			t.Fatalf("number %d, step %d: names (-want +got):\n%s", number, step, diff)
		}
	}
}

// The cost of a page of names depends on the page, not on the number of names.
func TestAPageOfNamesCostsWhatItReturns(t *testing.T) {
	x := outline.New()
	for ref := range store.Ref(20_000) {
		x.Put(outline.Record{Ref: ref, ID: uuid.UUID{byte(ref), byte(ref >> 8)}, Kind: ken.KindFact, About: outline.About{Names: []string{fmt.Sprintf("name %05d", ref)}}})
	}
	page := func() { x.Names(everything, "name 10000", 10) }
	page()
	if n := testing.AllocsPerRun(10, page); n > 8 {
		t.Errorf("%v allocations for ten names", n)
	}
	// A change shows in the next page.
	x.Remove(10_003)
	x.Put(outline.Record{Ref: 10_003, Kind: ken.KindFact, About: outline.About{Names: []string{"name 10002a"}}})
	got, more := x.Names(everything, "name 10002", 2)
	if len(got) != 2 || got[0].Name != "name 10002a" || got[1].Name != "name 10004" || !more {
		t.Errorf("%+v, %v", got, more)
	}
}

// A name is removed with its last record, because it may have been forgotten.
func TestNothingIsLeftOfANameThatIsGone(t *testing.T) {
	x := outline.New()
	all := outline.Pass{Claim: func(store.Ref) bool { return true }, Link: func(store.Ref) bool { return true }}
	for ref := range store.Ref(100) {
		x.Put(outline.Record{Ref: ref, ID: uuid.UUID{byte(ref)}, Kind: ken.KindFact, About: outline.About{Names: []string{fmt.Sprint("only ", ref), "shared", "a", "b", "c"}}})
	}
	if got := x.Len(); got != 104 {
		t.Fatalf("%d names", got)
	}
	for ref := range store.Ref(100) {
		x.Remove(ref)
		if x.Known(fmt.Sprint("only ", ref), all.Claim) {
			t.Errorf("the name of record %d is known", ref)
		}
		x.Remove(ref) // again is no change
	}
	if page, _ := x.Names(all, "", 1000); len(page) != 0 || x.Len() != 0 {
		t.Errorf("left: %v", page)
	}
}

// A thousand rules under one name are a thousand rules: no bound applies to them.
func TestNoBoundCutsConstraints(t *testing.T) {
	x := outline.New()
	for ref := range store.Ref(1000) {
		x.Put(outline.Record{Ref: ref, ID: uuid.UUID{byte(ref), byte(ref >> 8)}, Kind: ken.KindFact, Constraint: true,
			About: outline.About{Names: []string{"payments"}, Aspect: fmt.Sprint(ref % 100)}})
	}
	all := outline.Pass{Claim: func(store.Ref) bool { return true }, Link: func(store.Ref) bool { return true }}
	got := x.Outlines([]string{"payments"}, all, store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})[0]
	if len(got.Constraints) != 1000 || got.Records != 1000 || len(got.Aspects) != 1 || len(got.Aspects[0].Top) != 0 {
		t.Errorf("%d rules, %+v", len(got.Constraints), got.Aspects)
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    ken.Claim
		want outline.About
		some bool
	}{
		{"names in one spelling, each once", ken.Claim{Kind: ken.KindFact, Entities: []string{"The Payments-Service", "payments_service", "…", "Ledger"}, Aspect: " deployment "},
			outline.About{Names: []string{"payments service", "ledger"}, Aspect: "deployment"}, true},
		{"a rule about nothing", ken.Claim{Kind: ken.KindFact, Constraint: true}, outline.About{Said: []string{}}, true},
		{"a rule whose names are none", ken.Claim{Kind: ken.KindFact, Constraint: true, Entities: []string{"?"}}, outline.About{Said: []string{}}, true},
		{"what a rule says", ken.Claim{Kind: ken.KindFact, Constraint: true, Heading: "Customs", Text: "Never on Fridays."},
			outline.About{Said: []string{"custom", "never", "on", "fridai"}}, true},
		{"a claim about nothing", ken.Claim{Kind: ken.KindFact, Aspect: "a"}, outline.About{}, false},
		{"a piece of the repository", ken.Claim{Kind: ken.KindDocument, Entities: []string{"a"}, Constraint: true}, outline.About{}, false},
		{"a link", ken.Claim{Kind: ken.KindDependency, Entities: []string{"a", "b"}, Aspect: "owned_by", Importance: 0.7},
			outline.About{Names: []string{"a", "b"}, Aspect: "owned_by", Strength: 0.7}, true},
		{"a link says nothing", ken.Claim{Kind: ken.KindDependency, Entities: []string{"a"}, Text: "a uses b", Constraint: true}, outline.About{Names: []string{"a"}}, true},
		{"a link of nothing", ken.Claim{Kind: ken.KindAlias, Constraint: true}, outline.About{}, false},
	} {
		got, some := outline.Of(&tt.c)
		if some != tt.some || some && !gocmp.Equal(got, tt.want) {
			t.Errorf("%s: %+v, %v", tt.name, got, some)
		}
	}
}

func TestAboutRoundTrip(t *testing.T) {
	for _, want := range []outline.About{{}, {Aspect: "a"}, {Strength: 0.3}, {Names: []string{"payments"}, Aspect: "deployment", Strength: 1},
		{Names: []string{"a", strings.Repeat("ä", 200), "c", "d", "e"}}, {Said: []string{}}, {Names: []string{"a"}, Said: []string{"never", "on", "fridai"}}} {
		got, err := outline.Decode(want.Append(nil))
		if err != nil || !gocmp.Equal(got, want) {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	}
}

// FuzzAbout checks that Decode reads what Append wrote, and rejects everything else.
func FuzzAbout(f *testing.F) {
	for _, a := range []outline.About{{}, {Names: []string{"payments", "ledger"}, Aspect: "deployment", Strength: 0.5}, {Said: []string{"never", "again"}}} {
		f.Add(a.Append(nil))
	}
	f.Add([]byte{1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := outline.Decode(b)
		if err != nil {
			return
		}
		again, err := outline.Decode(a.Append(nil))
		if err != nil || !gocmp.Equal(a, again) {
			t.Errorf("%x: %+v became %+v, %v", b, a, again, err)
		}
		if longer := append(bytes.Clone(b), 0); !isBad(longer) {
			t.Errorf("%x is read with something behind it", b)
		}
	})
}

func isBad(b []byte) bool {
	_, err := outline.Decode(b)
	return err != nil
}
