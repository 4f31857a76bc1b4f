package storetest

import (
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

var (
	repoA = ken.Scope{Type: ken.ScopeRepo, ID: "a"}
	repoB = ken.Scope{Type: ken.ScopeRepo, ID: "b"}
	runA  = ken.Scope{Type: ken.ScopeRun, ID: "a"}
)

// filterTime is when the filters below look: after the expired claim's end and
// before the expiring one's.
var filterTime = epoch.Add(24 * time.Hour)

// population is a claim of every sort that a filter tells apart. All share a
// word, a vector and, but for the sort itself, everything else.
var population = []struct {
	name   string
	change func(*ken.Claim)
}{
	{"plain", func(*ken.Claim) {}},
	{"in repo a", func(c *ken.Claim) { c.Scope = repoA }},
	{"in repo b", func(c *ken.Claim) { c.Scope = repoB }},
	{"in run a", func(c *ken.Claim) { c.Scope = runA }},
	{"inferred", withStatus(ken.StatusInferred)},
	{"verified", withStatus(ken.StatusVerified)},
	{"hypothesis", withStatus(ken.StatusHypothesis)},
	{"disputed", withStatus(ken.StatusDisputed)},
	{"superseded", withStatus(ken.StatusSuperseded)},
	{"playbook", func(c *ken.Claim) { c.Kind = ken.KindPlaybook }},
	{"objective", func(c *ken.Claim) { c.Kind = ken.KindObjective }},
	{"document", func(c *ken.Claim) { c.Kind = ken.KindDocument }},
	{"external", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromToolResult("tc", "")} }},
	{"operator", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromFile("a.go", "", "")} }},
	{"expired", func(c *ken.Claim) { c.ExpiresAt = epoch.Add(time.Hour) }},
	{"expiring", func(c *ken.Claim) { c.ExpiresAt = filterTime.Add(time.Second) }},
}

// current is what the default recall returns, scope, kind and trust aside.
var current = []string{"plain", "in repo a", "in repo b", "in run a", "inferred", "verified", "playbook", "objective",
	"document", "external", "operator", "expiring"}

var filters = []struct {
	name   string
	filter ken.Filter
	want   []string
}{
	{"default", ken.Filter{}, current},
	{"one scope", ken.Filter{Scopes: []ken.Scope{repoA}}, []string{"in repo a"}},
	{"two scopes", ken.Filter{Scopes: []ken.Scope{repoA, runA}}, []string{"in repo a", "in run a"}},
	{"a scope and what is unscoped", ken.Filter{Scopes: []ken.Scope{repoA}, Unscoped: true}, without(current, "in repo b", "in run a")},
	{"a scope that nobody has", ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeAgent, ID: "a"}}}, nil},
	{"disputed", ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, []string{"disputed"}},
	{"superseded and hypotheses", ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded, ken.StatusHypothesis}}, []string{"superseded", "hypothesis"}},
	{"no status", ken.Filter{Statuses: []ken.Status{}}, nil},
	{"one kind", ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook}}, []string{"playbook"}},
	{"two kinds", ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook, ken.KindObjective}}, []string{"playbook", "objective"}},
	{"claims only", ken.Filter{ClaimsOnly: true}, without(current, "document")},
	{"documents and claims only", ken.Filter{Kinds: []ken.Kind{ken.KindDocument}, ClaimsOnly: true}, nil},
	{"trusted as agent", ken.Filter{MinTrust: ken.TrustAgent}, without(current, "external")},
	{"trusted as operator", ken.Filter{MinTrust: ken.TrustOperator}, []string{"operator"}},
	{"scope and kind", ken.Filter{Scopes: []ken.Scope{repoA}, Kinds: []ken.Kind{ken.KindPlaybook}}, nil},
	{"unscoped and disputed", ken.Filter{Scopes: []ken.Scope{repoA}, Unscoped: true, Statuses: []ken.Status{ken.StatusDisputed}}, []string{"disputed"}},
}

func without(names []string, out ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(out, n) })
}

// populate writes the population and returns each one's name by its id.
func populate(k *kit, s ken.Store, further ...func(*ken.Claim)) map[string]string {
	k.Helper()
	names := map[string]string{}
	for _, p := range population {
		id, err := s.WriteClaim(k.ctx, claim("ledger", slices.Concat(further, []func(*ken.Claim){p.change})...))
		if err != nil {
			k.Fatalf("write %s: %v", p.name, err)
		}
		names[id] = p.name
	}
	return names
}

func testFilter(k *kit) {
	names := populate(k, k.s)
	for _, question := range []string{"ledger", ""} {
		for _, tt := range filters {
			f := tt.filter
			f.Now = filterTime
			var got []string
			for _, c := range k.query(ken.Query{Question: question, Filter: f, Limit: many}) {
				got = append(got, names[c.ID])
			}
			if !sameSet(got, tt.want) {
				k.Errorf("%s, question %q: got %q, want %q", tt.name, question, got, tt.want)
			}
		}
	}

	k.sub("the zero filter keeps expired claims out", func(k *kit) {
		k.write("ledger, expired", func(c *ken.Claim) { c.ExpiresAt = epoch })
		good := k.write("ledger, still good", func(c *ken.Claim) { c.ExpiresAt = epoch.AddDate(1, 0, 0) })
		for _, question := range []string{"ledger", ""} {
			if got := k.ask(question); !slices.Equal(got, []string{good}) {
				k.Errorf("question %q finds %d claims, want the good one", question, len(got))
			}
		}
	})

	k.sub("structural kinds", func(k *kit) {
		fact := k.write("ledger")
		link := k.write("ledger, a link", about("ledger", "other"), link(ken.KindDependency, "uses", 1))
		for _, question := range []string{"ledger", ""} {
			for _, tt := range []struct {
				f    ken.Filter
				want []string
			}{
				{ken.Filter{}, []string{fact}},
				{ken.Filter{Structural: true}, []string{fact, link}},
				{ken.Filter{Structural: true, Kinds: []ken.Kind{ken.KindFact}}, []string{fact}},
				{ken.Filter{Structural: true, Kinds: []ken.Kind{ken.KindDependency}}, []string{link}},
			} {
				if got := ids(k.query(ken.Query{Question: question, Filter: tt.f, Limit: many})); !sameSet(got, tt.want) {
					k.Errorf("question %q, %+v: %v, want %v", question, tt.f, got, tt.want)
				}
			}
		}
		if p, ok := k.s.(store.Projections); ok {
			if res, err := p.Newest(k.ctx, &ken.Filter{Structural: true}, many); err != nil || len(res.Hits) != 2 {
				k.Errorf("the newest: %+v, %v", res.Hits, err)
			}
		}
		if s, ok := k.s.(scanner); ok {
			scanned := 0
			for _, err := range s.Scan(k.ctx, &ken.Filter{Structural: true}, nil) {
				if scanned++; err != nil {
					k.Error(err)
				}
			}
			if scanned != 2 {
				k.Errorf("a scan has %d claims, want both", scanned)
			}
		}
	})

	k.sub("the caller's filter is not changed", func(k *kit) {
		k.write("ledger")
		q := ken.Query{Question: "ledger", Filter: ken.Filter{Scopes: []ken.Scope{runA, repoA}, Unscoped: true,
			Statuses: []ken.Status{ken.StatusVerified, ken.StatusObserved}, Kinds: []ken.Kind{ken.KindHot, ken.KindFact}}}
		scopes, statuses, kinds := slices.Clone(q.Filter.Scopes), slices.Clone(q.Filter.Statuses), slices.Clone(q.Filter.Kinds)
		k.query(q)
		if !slices.Equal(q.Filter.Scopes, scopes) || !slices.Equal(q.Filter.Statuses, statuses) || !slices.Equal(q.Filter.Kinds, kinds) {
			k.Errorf("it is now %+v", q.Filter)
		}
	})
}

// refNames translates hits into the names of the population.
func refNames(p store.Projections, names map[string]string, hits []store.Hit) []string {
	out := make([]string, 0, len(hits))
	for _, h := range hits {
		row, _ := p.Row(h.Ref)
		out = append(out, names[row.ID])
	}
	return out
}
