package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

type forgetter interface {
	Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error)
}

// about gives a claim its names.
func about(names ...string) func(*ken.Claim) { return func(c *ken.Claim) { c.Entities = names } }

// under gives a claim an aspect.
func under(aspect string) func(*ken.Claim) { return func(c *ken.Claim) { c.Aspect = aspect } }

// rule makes a claim a constraint, with evidence that is not external.
func rule(c *ken.Claim) { c.Constraint, c.AssignedBy = true, ken.AssignedByOperator }

// link makes a claim a structural one.
func link(kind ken.Kind, typ string, strength float64) func(*ken.Claim) {
	return func(c *ken.Claim) { c.Kind, c.Aspect, c.Importance = kind, typ, strength }
}

// outline returns the default outline of a name.
func (k *kit) outline(p Readable, name string) store.Outline {
	k.Helper()
	return k.outlines(p, &ken.Filter{}, store.OutlineOptions{}, name)[0]
}

func (k *kit) outlines(p Readable, f *ken.Filter, o store.OutlineOptions, names ...string) []store.Outline {
	k.Helper()
	out, err := p.Outlines(k.ctx, names, f, o)
	if err != nil {
		k.Fatalf("outlines: %v", err)
	}
	if len(out) != len(names) {
		k.Fatalf("%d outlines of %d names", len(out), len(names))
	}
	for i := range out {
		if out[i].Name != names[i] {
			k.Errorf("outline %d is of %q, want %q", i, out[i].Name, names[i])
		}
	}
	return out
}

// idsOf returns the records' ids, in order.
func (k *kit) idsOf(p Readable, refs []store.Ref) []string {
	k.Helper()
	var out []string
	for _, ref := range refs {
		row, ok := p.Row(ref)
		if !ok {
			k.Errorf("record %d has no row", ref)
		}
		out = append(out, row.ID)
	}
	return out
}

func (k *kit) wantKnown(p Readable, names ...string) {
	k.Helper()
	want := make([]bool, len(names))
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i], want[i] = strings.CutPrefix(n, "+")
	}
	if got := p.Known(plain); !slices.Equal(got, want) {
		k.Errorf("of %q known: %v", plain, got)
	}
}

func testOutlines(k *kit, p Readable) {
	k.wantKnown(p, "payments", "")
	if got := k.outline(p, "payments"); !cmp.Equal(got, store.Outline{Name: "payments"}) {
		k.Errorf("of an empty store: %+v", got)
	}
	if got := k.outlines(p, &ken.Filter{}, store.OutlineOptions{}); len(got) != 0 {
		k.Errorf("of no names: %+v", got)
	}
	speed := k.write("deploys are slow", about("The Payments-Service", "Ledger", "payments_service"), under("speed"))
	k.write("deploys are quick", about("ledger", "payments service"), under("speed"))
	friday := k.write("never deploy on fridays", about("payments service", "calendar"), under("deployment"), rule)
	other := k.write("the calendar never lies", about("calendar", "payments service"), rule)
	plain := k.write("it is old", about("payments service"))
	k.write("about nothing, and no rule", under("speed"))
	always := k.write("always be kind", rule)
	nameless := k.write("never shout", about("…"), rule)
	dep := k.write("payments requires ledger", about("payments service", "ledger"), link(ken.KindDependency, "requires", 0.75))
	weak := k.write("payments uses ledger", about("payments service", "ledger"), link(ken.KindDependency, "uses", 0.25))
	entity := k.write("Payments", about("payments service"), link(ken.KindEntity, "system", 1))
	alias := k.write("pay is payments", about("payments service", "pay"), link(ken.KindAlias, "", 0.5))
	k.write("a document about it", about("payments service", "document"), func(c *ken.Claim) { c.Kind = ken.KindDocument })

	k.wantKnown(p, "+payments service", "+ledger", "+pay", "+calendar", "payments", "document", "Ledger", "")
	got := k.outline(p, "payments service")
	if got.Records != 9 || !slices.Equal(k.idsOf(p, got.Constraints), []string{other, friday}) {
		k.Errorf("%d records, constraints %v", got.Records, k.idsOf(p, got.Constraints))
	}
	var links []string
	for _, l := range got.Links {
		links = append(links, fmt.Sprint(k.idsOf(p, []store.Ref{l.Ref})[0], l.Kind, l.Names, l.Type, l.Strength))
	}
	want := []string{fmt.Sprint(entity, ken.KindEntity, []string{"payments service"}, "system", 1.0), fmt.Sprint(dep, ken.KindDependency, []string{"payments service", "ledger"}, "requires", 0.75),
		fmt.Sprint(weak, ken.KindDependency, []string{"payments service", "ledger"}, "uses", 0.25), fmt.Sprint(alias, ken.KindAlias, []string{"payments service", "pay"}, "", 0.5)}
	if diff := cmp.Diff(want, links); diff != "" {
		k.Errorf("links (-want +got):\n%s", diff)
	}
	var aspects []string
	for _, a := range got.Aspects {
		aspects = append(aspects, fmt.Sprint(a.Name, a.Claims, a.Constraints, a.Others, k.idsOf(p, a.Top)))
	}
	want = []string{fmt.Sprint("", 1, 0, 0, []string{plain}), fmt.Sprint("deployment", 1, 1, 1, []string{}), fmt.Sprint("speed", 1, 0, 1, []string{speed})}
	if diff := cmp.Diff(want, aspects); diff != "" {
		k.Errorf("aspects (-want +got):\n%s", diff)
	}
	if got := k.outline(p, ""); !slices.Equal(k.idsOf(p, got.Constraints), []string{nameless, always}) || len(got.Links)+len(got.Aspects) > 0 {
		k.Errorf("without a name: %+v", got)
	}
	both := k.outlines(p, &ken.Filter{}, store.OutlineOptions{}, "ledger", "nobody", "payments service", "ledger")
	if diff := cmp.Diff(got, both[2]); diff != "" || !cmp.Equal(both[0], both[3]) || both[1].Records != 0 {
		k.Errorf("asked together (-alone +together):\n%s", diff)
	}
}

// Sorted by tier, then newest, then id. Limits cut at the end, and never cut a rule.
func testOutlinesOrder(k *kit, p Readable) {
	proof := func(names ...string) func(*ken.Claim) {
		return func(c *ken.Claim) {
			c.Evidence = nil
			for _, n := range names {
				c.Evidence = append(c.Evidence, ken.FromValidator(n, ""))
			}
		}
	}
	words := func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromUserStatement("s", "m")} }
	at := func(minute int) func(*ken.Claim) {
		return func(c *ken.Claim) { c.CreatedAt = epoch.Add(-time.Duration(minute) * time.Minute) }
	}
	id := func(n int) func(*ken.Claim) {
		return func(c *ken.Claim) { c.ID = fmt.Sprintf("0198a000-0000-7000-8000-%012d", n) }
	}
	for _, change := range []func(*ken.Claim){func(*ken.Claim) {}, rule} {
		name := "claims"
		if c := claim(""); true {
			if change(&c); c.Constraint {
				name = "rules"
			}
		}
		k.sub(name, func(k *kit) {
			p := k.s.(Readable)
			write := func(more ...func(*ken.Claim)) string {
				return k.write("ledger", append(more, about("ledger"), under("a"), change)...)
			}
			b := write(id(2), at(5), words)
			a := write(id(1), at(5), words)
			old := write(at(9), proof("A"))
			proven := write(at(99), proof("A", "B"))
			young := write(at(1), proof("A"))
			want := []string{proven, young, old, a, b}
			got := k.outlines(p, &ken.Filter{}, store.OutlineOptions{Top: 2}, "ledger")[0]
			if name == "rules" {
				if ids := k.idsOf(p, got.Constraints); !slices.Equal(ids, want) {
					k.Errorf("rules %v, want %v", ids, want)
				}
				return
			}
			if ids := k.idsOf(p, got.Aspects[0].Top); !slices.Equal(ids, want[:2]) || got.Aspects[0].Claims != 5 {
				k.Errorf("top %v of %d, want %v", ids, got.Aspects[0].Claims, want[:2])
			}
			if ids := k.idsOf(p, k.outline(p, "ledger").Aspects[0].Top); !slices.Equal(ids, want) {
				k.Errorf("top %v, want %v", ids, want)
			}
		})
	}

	for i := range 30 {
		k.write(fmt.Sprint("claim ", i), about("ledger"), under(fmt.Sprint("aspect ", i%3)))
		k.write(fmt.Sprint("rule ", i), about("ledger"), under("rules"), rule)
		k.write(fmt.Sprint("link ", i), about("ledger", fmt.Sprint("n", i)), link(ken.KindDependency, "uses", float64(i)/30))
	}
	got := k.outlines(p, &ken.Filter{}, store.OutlineOptions{Aspects: 2, Top: 4, Links: 5}, "ledger")[0]
	if len(got.Constraints) != 30 || len(got.Links) != 5 || got.Links[0].Strength != 29.0/30 || got.Records != 90 || len(got.Aspects) != 2 ||
		got.Aspects[0].Name != "aspect 0" || len(got.Aspects[0].Top) != 4 || got.Aspects[1].Name != "rules" || got.Aspects[1].Claims != 30 {
		k.Errorf("bounded: %+v", got)
	}
}

// A name's outline includes a write before the write returns.
func testOutlinesFollow(k *kit, p Readable) {
	id := k.write("deploys are slow", about("payments"), withKey("k"))
	k.wantKnown(p, "+payments")
	k.write("deploys are slow indeed", about("checkout"), withKey("k"))
	k.wantKnown(p, "payments", "+checkout")
	k.transition(id, ken.StatusDisputed)
	k.wantKnown(p, "checkout")
	if got := k.outline(p, "checkout"); got.Records != 0 {
		k.Errorf("a disputed claim is returned: %+v", got)
	}
	k.transition(id, ken.StatusVerified)
	k.wantKnown(p, "+checkout")
	next := k.write("deploys are quick", about("pipeline"), rule)
	k.supersede(id, next)
	k.wantKnown(p, "checkout", "+pipeline")
	k.write("proposed", about("hypothesis"), withStatus(ken.StatusHypothesis))
	k.write("over", about("expired"), func(c *ken.Claim) { c.ExpiresAt = epoch })
	k.wantKnown(p, "hypothesis", "expired")

	if got := k.outline(p, "pipeline"); !slices.Equal(k.idsOf(p, got.Constraints), []string{next}) {
		k.Errorf("%+v", got)
	}
	k.transition(next, ken.StatusDisputed) // the rule is in doubt, and so not one to obey
	if got := k.outline(p, "pipeline"); len(got.Constraints) != 0 {
		k.Errorf("%+v", got)
	}
	if _, ok := k.s.(assigner); !ok {
		return
	}
	plain := k.write("never deploy on fridays", vouched)
	k.assign(true, ken.Assignment{ID: plain, By: ken.AssignedByRules, Constraint: true})
	if got := k.outline(p, ""); !slices.Equal(k.idsOf(p, got.Constraints), []string{plain}) {
		k.Errorf("a rule about nothing: %+v", got)
	}
	k.assign(true, ken.Assignment{ID: plain, By: ken.AssignedByModel, Entities: []string{"payments"}, Aspect: "deployment"})
	if got := k.outline(p, ""); got.Records != 0 {
		k.Errorf("it is about something now: %+v", got)
	}
	if got := k.outline(p, "payments"); !slices.Equal(k.idsOf(p, got.Constraints), []string{plain}) || got.Aspects[0].Name != "deployment" {
		k.Errorf("%+v", got)
	}
}

// A rule is also found by the names in its text, if the options ask for that.
func testOutlinesMentioned(k *kit, p Readable) {
	mentioned := func(f ken.Filter, names ...string) (out [][]string) {
		k.Helper()
		for _, o := range k.outlines(p, &f, store.OutlineOptions{Mentioned: names}, names...) {
			out = append(out, k.idsOf(p, o.Constraints))
		}
		return out
	}
	want := func(when string, got [][]string, want ...[]string) {
		k.Helper()
		if !slices.EqualFunc(got, want, slices.Equal) {
			k.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	carries := k.write("Never on Fridays.", about("customs"), rule)
	says := k.write("Customs declarations must be filed a day before.", about("customs declarations"), rule)
	both := k.write("Customs is never called.", about("phone", "customs"), rule)
	heading := k.write("Only Lena may release a blocked one.", rule, func(c *ken.Claim) { c.Heading = "The Customs-Desk" })
	scoped := k.write("No custom without customs.", rule, func(c *ken.Claim) { c.Scope = repoB })
	k.write("Customs is slow.")
	k.write("Disputed: never at customs.", rule, withStatus(ken.StatusDisputed))
	k.write("customs requires paper", about("customs", "paper"), link(ken.KindDependency, "requires", 1))

	want("all", mentioned(ken.Filter{}, "customs", "customs desk", "declaration", "customs paper"),
		[]string{both, carries, scoped, heading, says}, []string{heading}, []string{says}, nil)
	want("in repo a", mentioned(ken.Filter{Scopes: []ken.Scope{repoA}, Unscoped: true}, "customs"), []string{both, carries, heading, says})
	if got := k.outline(p, "customs"); !slices.Equal(k.idsOf(p, got.Constraints), []string{both, carries}) || got.Records != 3 {
		k.Errorf("not asked for: %+v", got)
	}
	some := k.outlines(p, &ken.Filter{}, store.OutlineOptions{Mentioned: []string{"desk", "nobody asks"}, Brief: true}, "customs", "desk")
	want("asked for one of two", [][]string{k.idsOf(p, some[0].Constraints), k.idsOf(p, some[1].Constraints)}, []string{both, carries}, []string{heading})

	k.transition(says, ken.StatusDisputed)
	want("disputed", mentioned(ken.Filter{}, "declarations"), nil)
	k.transition(says, ken.StatusVerified)
	want("verified", mentioned(ken.Filter{}, "declarations"), []string{says})
	if _, ok := k.s.(assigner); ok {
		plain := k.write("Never deploy before noon.", vouched)
		want("no rule", mentioned(ken.Filter{}, "noon"), nil)
		k.assign(true, ken.Assignment{ID: plain, By: ken.AssignedByRules, Constraint: true})
		want("a rule", mentioned(ken.Filter{}, "noon"), []string{plain})
		k.assign(true, ken.Assignment{ID: plain, By: ken.AssignedByModel, Entities: []string{"noon"}})
		want("a rule of it", mentioned(ken.Filter{}, "noon"), []string{plain})
	}
	keyed := k.write("Never before midnight.", rule, withKey("k"))
	k.write("Never before dawn.", rule, withKey("k"))
	want("another text", mentioned(ken.Filter{}, "midnight", "dawn"), nil, []string{keyed})
}

// In other memory layers, a name stays known after a deletion, and claims that were
// derived from the deleted one stay.
func testOutlinesForget(k *kit, p Readable) {
	f, ok := k.s.(forgetter)
	if !ok {
		k.Skip("the store has no Forget")
	}
	secret := k.write("the merger with acme is near, never talk of Project Osprey", about("acme merger", "payments"), func(c *ken.Claim) { c.Constraint = true })
	k.write("acme requires payments", about("acme merger", "payments"), link(ken.KindDependency, "requires", 1),
		func(c *ken.Claim) { c.Evidence = append(c.Evidence, ken.FromRepositoryMemory(secret)) })
	k.write("never stop payments", about("payments"), rule)
	k.assign(true, ken.Assignment{ID: secret, By: ken.AssignedByRules, Entities: []string{"falcon"}})
	k.wantKnown(p, "+acme merger", "+payments", "+falcon")
	if _, err := f.Forget(k.ctx, secret, "", ken.Actor{}); err != nil {
		k.Fatal(err)
	}
	k.wantKnown(p, "acme merger", "+payments", "falcon")
	if got := k.outlines(p, &ken.Filter{Statuses: ken.Statuses()}, store.OutlineOptions{Mentioned: []string{"project osprey"}}, "project osprey")[0]; len(got.Constraints) != 0 {
		k.Errorf("what it said finds %v", k.idsOf(p, got.Constraints))
	}
	if got := k.outline(p, "acme merger"); got.Records != 0 {
		k.Errorf("%+v", got)
	}
	if got := k.outline(p, "payments"); got.Records != 1 || len(got.Constraints) != 1 || len(got.Links) != 0 {
		k.Errorf("%+v", got)
	}
	for c, err := range p.Names(k.ctx, &ken.Filter{Statuses: ken.Statuses()}) {
		if err != nil || c.Name != "payments" {
			k.Errorf("%+v, %v", c, err)
		}
	}
	for _, ev := range k.history(secret) {
		if strings.Contains(ev.Reason, "falcon") {
			k.Errorf("its history says %q", ev.Reason)
		}
	}
}

// One name under two owners means two different things.
func testOutlinesOwners(k *kit, _ Readable) {
	ada, ben := k.another(Options{Owner: "ada"}).(Readable), k.another(Options{Owner: "ben"}).(Readable)
	for _, s := range []Readable{ada, ben} {
		owner := "ada"
		if s == ben {
			owner = "ben"
		}
		if _, err := s.WriteClaim(k.ctx, claim("never deploy payments, says "+owner, about("payments", "only "+owner), rule)); err != nil {
			k.Fatal(err)
		}
	}
	k.wantKnown(ada, "+payments", "+only ada", "only ben")
	got := k.outline(ada, "payments")
	if len(got.Constraints) != 1 {
		k.Fatalf("%+v", got)
	}
	if c, err := ada.Claim(k.ctx, got.Constraints[0]); err != nil || c.Owner != "ada" {
		k.Errorf("%+v, %v", c, err)
	}
	for c, err := range ada.Names(k.ctx, &ken.Filter{}) {
		if err != nil || c.Name == "only ben" || c.Records != 1 {
			k.Errorf("%+v, %v", c, err)
		}
	}
}

// ways are the methods and fields by which an outline can return a record. None may
// return a record that the filter rejects.
var ways = []struct {
	name   string
	of     string // the name whose outline is read
	change func(*ken.Claim)
	refs   func(o *store.Outline) []store.Ref
	out    []string // of the population: never returned this way
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
				if isLink && (f.Kinds != nil || f.ClaimsOnly) { // these do not apply to links
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
					k.Errorf("%s: got %q, want %q", tt.name, told, want)
				}
				if !cmp.Equal(kept, f) {
					k.Errorf("%s: the caller's filter became %+v", tt.name, f)
				}
				checkCounts(k, p, &f, way.of, &got, isLink, len(want))
			}
		})
	}
}

// wantOfLinks returns the population's links that pass a filter, ignoring its kinds.
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

// structural checks that a query finds a structural claim only if it names the kind.
func (k *kit) structural(id string) ken.Claim {
	k.Helper()
	found := k.query(ken.Query{Filter: ken.Filter{Statuses: ken.Statuses(), Now: epoch, Kinds: []ken.Kind{ken.KindEntity, ken.KindDependency,
		ken.KindAlias, ken.KindFact, ken.KindPlaybook, ken.KindObjective, ken.KindDocument}}, Limit: many})
	for _, c := range found {
		if c.ID == id {
			return c
		}
	}
	k.Fatalf("claim %s is missing", id)
	return ken.Claim{}
}

// checkCounts checks that counts don't include rejected records either. The
// population's claims of small kinds are not links; they mention the name.
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
		k.must(err)
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
			k.must(err)
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
	over := ended(k.ctx)
	for _, err := range p.Names(over, &ken.Filter{}) {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("cancelled: %v", err)
		}
	}
}
