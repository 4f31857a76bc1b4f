package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// ways are those in which an outline tells of a record. None may tell of one that
// the filter refuses.
var ways = []struct {
	name   string
	of     string // the outline that is asked for
	change func(*ken.Claim)
	refs   func(o *store.Outline) []store.Ref
	out    []string // of the population: what is never told in this way
}{
	{"aspect", "ledger", func(c *ken.Claim) { about("Ledger", "other")(c); under("a")(c) }, tops, []string{"document"}},
	{"no aspect", "ledger", about("ledger"), tops, []string{"document"}},
	{"constraint", "ledger", func(c *ken.Claim) { about("ledger")(c); rule(c) }, rules, []string{"document"}},
	{"constraint that mentions", "ledger", func(c *ken.Claim) { about("other", "ledger")(c); rule(c) }, rules, []string{"document"}},
	{"constraint about nothing", "", rule, rules, []string{"document"}},
	{"link", "ledger", func(c *ken.Claim) { about("ledger", "other")(c); link(ken.KindDependency, "uses", 1)(c) }, links, []string{"playbook", "objective", "document"}},
	{"link from elsewhere", "ledger", func(c *ken.Claim) { about("other", "ledger")(c); link(ken.KindAlias, "", 1)(c) }, links, []string{"playbook", "objective", "document"}},
}

func tops(o *store.Outline) (refs []store.Ref) {
	for i := range o.Aspects {
		refs = append(refs, o.Aspects[i].Top...)
	}
	return refs
}

func rules(o *store.Outline) []store.Ref { return o.Constraints }

func links(o *store.Outline) (refs []store.Ref) {
	for i := range o.Links {
		refs = append(refs, o.Links[i].Ref)
	}
	return refs
}

func testOutlinesFilter(k *kit, _ Readable) {
	for _, way := range ways {
		k.sub(way.name, func(k *kit) {
			p := k.s.(Readable)
			names := populate(k, p, way.change)
			isLink := len(way.out) > 1
			for _, tt := range filters {
				f := tt.filter
				f.Now = filterTime
				kept := f
				want := without(tt.want, way.out...)
				if isLink && (f.Kinds != nil || f.ClaimsOnly) { // which do not apply to links
					f.Kinds, f.ClaimsOnly = nil, false
					want = wantOfLinks(k, names, f, way.out)
					f = kept
				}
				got := k.outlines(p, &f, store.OutlineOptions{Top: many, Links: many}, way.of)[0]
				var told []string
				for _, id := range k.idsOf(p, way.refs(&got)) {
					told = append(told, names[id])
				}
				if !sameSet(told, want) {
					k.Errorf("%s: told of %q, want %q", tt.name, told, want)
				}
				if !cmp.Equal(kept, f) {
					k.Errorf("%s: the caller's filter became %+v", tt.name, f)
				}
				checkCounts(k, p, &f, way.of, &got, isLink, len(want))
			}
		})
	}
}

// wantOfLinks are the population's links that a filter lets in, whatever its kinds.
func wantOfLinks(k *kit, names map[string]string, f ken.Filter, out []string) (want []string) {
	k.Helper()
	f.Kinds = []ken.Kind{ken.KindDependency, ken.KindAlias}
	for id, name := range names {
		c := k.structural(id)
		if f.Reject(c.Facts()) == "" && !slices.Contains(out, name) {
			want = append(want, name)
		}
	}
	return want
}

// structural reads a claim that a question does not find unless it asks for its kind.
func (k *kit) structural(id string) ken.Claim {
	k.Helper()
	found := k.query(ken.Query{Filter: ken.Filter{Statuses: ken.Statuses(), Now: epoch, Kinds: []ken.Kind{ken.KindEntity, ken.KindDependency,
		ken.KindAlias, ken.KindFact, ken.KindPlaybook, ken.KindObjective, ken.KindDocument}}, Limit: many})
	for _, c := range found {
		if c.ID == id {
			return c
		}
	}
	k.Fatalf("claim %s is gone", id)
	return ken.Claim{}
}

// checkCounts checks that numbers tell of nothing that the filter refuses, either.
// The population's claims of small kinds are no links; they mention the name.
func checkCounts(k *kit, p Readable, f *ken.Filter, name string, got *store.Outline, isLink bool, want int) {
	k.Helper()
	if !isLink && got.Records != want {
		k.Errorf("%d records, want %d", got.Records, want)
	}
	claims := 0
	for _, a := range got.Aspects {
		claims += a.Claims
	}
	if claims > got.Records {
		k.Errorf("%d claims under aspects, of %d records", claims, got.Records)
	}
	if name == "" {
		return
	}
	records := 0
	for c, err := range p.Names(k.ctx, f) {
		if err != nil {
			k.Fatal(err)
		}
		if c.Name == name {
			records = c.Records
		}
	}
	if records != got.Records {
		k.Errorf("names have %d records, the outline %d", records, got.Records)
	}
}

func testNames(k *kit, p Readable) {
	collect := func(f *ken.Filter) []string {
		var out []string
		for c, err := range p.Names(k.ctx, f) {
			if err != nil {
				k.Fatal(err)
			}
			out = append(out, fmt.Sprint(c.Name, " ", c.Records, " ", c.Primary))
		}
		return out
	}
	if got := collect(&ken.Filter{}); got != nil {
		k.Errorf("of an empty store: %v", got)
	}
	k.write("one", about("Payments", "ledger"))
	k.write("two", about("ledger"), func(c *ken.Claim) { c.Scope = repoA })
	k.write("never", rule)
	k.write("dep", about("payments", "queue"), link(ken.KindDependency, "uses", 1))
	k.write("disputed", about("ghost"), withStatus(ken.StatusDisputed))
	if got, want := collect(&ken.Filter{}), []string{"ledger 2 1", "payments 2 2", "queue 1 0"}; !slices.Equal(got, want) {
		k.Errorf("got %q, want %q", got, want)
	}
	if got, want := collect(&ken.Filter{Scopes: []ken.Scope{repoA}, Kinds: []ken.Kind{ken.KindFact}}), []string{"ledger 1 1"}; !slices.Equal(got, want) {
		k.Errorf("in repo a: got %q, want %q", got, want)
	}
	if got, want := collect(&ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook}}), []string{"payments 1 1", "queue 1 0"}; !slices.Equal(got, want) {
		k.Errorf("of links alone: got %q, want %q", got, want)
	}
	for _, err := range p.Names(k.ctx, &ken.Filter{}) { // a loop may end early, and write
		if err != nil {
			k.Error(err)
		}
		k.write("while reading", about("later"))
		break
	}
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	for _, err := range p.Names(over, &ken.Filter{}) {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("cancelled: %v", err)
		}
	}
}
