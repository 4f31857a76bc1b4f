package entity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/store/memory"
)

var day = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// kit is a store to be filled.
type kit struct {
	testing.TB
	s memory.Store
	n int
}

func newKit(t testing.TB) *kit {
	return &kit{TB: t, s: memory.New(memory.Options{Now: func() time.Time { return day }})}
}

// put writes a claim; change says what it is.
func (k *kit) put(text string, change func(*ken.Claim)) string {
	k.Helper()
	c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", day, ""))
	if err != nil {
		k.Fatal(err)
	}
	k.n++
	c.CreatedAt = day.Add(-time.Duration(k.n) * time.Minute)
	change(&c)
	id, err := k.s.WriteClaim(context.Background(), c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func (k *kit) fact(text, aspect string, entities ...string) string {
	k.Helper()
	return k.put(text, func(c *ken.Claim) { c.Entities, c.Aspect = entities, aspect })
}

func (k *kit) rule(text, aspect string, entities ...string) string {
	k.Helper()
	return k.put(text, func(c *ken.Claim) { c.Entities, c.Aspect, c.Constraint = entities, aspect, true })
}

func (k *kit) depends(source, typ, target string, strength float64) string {
	k.Helper()
	return k.put(source+" "+typ+" "+target, func(c *ken.Claim) {
		c.Kind, c.Entities, c.Aspect, c.Importance = ken.KindDependency, []string{source, target}, typ, strength
	})
}

func (k *kit) alias(of, name string) {
	k.Helper()
	k.put(name+" is "+of, func(c *ken.Claim) { c.Kind, c.Entities, c.Aspect = ken.KindAlias, []string{of, name}, "alias" })
}

func (k *kit) task(id, status string, about ...string) {
	k.Helper()
	k.put("Do "+id, func(c *ken.Claim) {
		c.Kind, c.Key, c.Aspect, c.Entities = ken.KindEntity, "task:"+id, "task", append([]string{id}, about...)
		c.Body = json.RawMessage(`{"status":"` + status + `"}`)
	})
}

func (k *kit) show(name string, change ...func(*entity.Options)) entity.View {
	k.Helper()
	change = append([]func(*entity.Options){func(o *entity.Options) { o.Now = func() time.Time { return day } }}, change...)
	v, err := entity.Show(context.Background(), k.s, name, nil, change...)
	if err != nil {
		k.Fatal(err)
	}
	return v
}

func texts(claims []entity.Claim) (out []string) {
	for _, c := range claims {
		out = append(out, c.Text)
	}
	return out
}

// The view of an entity is everything about it, each thing once and in its order.
func TestShow(t *testing.T) {
	k := newKit(t)
	k.put("Payments: moves the money", func(c *ken.Claim) { c.Kind, c.Entities, c.Aspect = ken.KindEntity, []string{"payments"}, "system" })
	k.rule("Never deploy on Fridays.", "deployment", "payments", "fridays")
	k.rule("Stays on PostgreSQL 15.", "storage", "ledger")
	k.rule("Never tell.", "", "far away")
	k.rule("Log nothing that the pay-svc reads.", "logs", "desk")
	k.rule("Be kind.", "")
	k.fact("It is written in Go.", "implementation", "payments", "go")
	k.fact("It has a cache.", "implementation", "pay-svc", "redis")
	k.fact("Somebody likes it.", "", "payments")
	k.fact("It is only mentioned.", "implementation", "shop", "payments")
	k.depends("payments", "requires", "ledger", 0.9)
	k.depends("payments", "uses", "redis", 0.1)
	k.depends("shop", "uses", "pay svc", 0.5)
	k.depends("ledger", "requires", "far away", 1)
	k.alias("payments", "pay svc")
	k.task("T-0002", "open", "payments")
	k.task("T-0001", "done", "pay svc")
	old := k.fact("It is written in Perl.", "implementation", "payments")
	next := k.fact("It was rewritten.", "implementation", "payments")
	if err := k.s.Supersede(context.Background(), old, next); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"payments", "Pay-Svc"} {
		v := k.show(name)
		if v.Name != "payments" || v.Display != "Payments" || v.About != "moves the money" || v.Type != "system" || !slices.Equal(v.Aliases, []string{"pay svc"}) {
			t.Errorf("head %+v", v)
		}
		var rules []string
		for _, c := range v.Constraints {
			rules = append(rules, fmt.Sprint(c.Distance, c.Via, c.Says, ": ", c.Text))
		}
		if want := []string{"0: Never deploy on Fridays.", "0pay svc: Log nothing that the pay-svc reads.", "1ledger: Stays on PostgreSQL 15."}; !slices.Equal(rules, want) {
			t.Errorf("rules %q", rules)
		}
		var aspects []string
		for _, a := range v.Aspects {
			aspects = append(aspects, fmt.Sprintf("%s %d %q", a.Name, a.Claims, texts(a.Attributes)))
		}
		want := []string{`deployment 1 []`, `implementation 3 ["It is written in Go." "It was rewritten." "It has a cache."]`, ` 1 ["Somebody likes it."]`}
		if !slices.Equal(aspects, want) {
			t.Errorf("aspects %q", aspects)
		}
		var links []string
		for _, d := range v.Dependencies {
			links = append(links, d.Type+" "+d.Name)
		}
		if !slices.Equal(links, []string{"requires ledger", "uses redis"}) || len(v.Dependents) != 1 || v.Dependents[0].Name != "shop" {
			t.Errorf("dependencies %q, dependents %+v", links, v.Dependents)
		}
		if len(v.Tasks) != 2 || v.Tasks[0].ID != "T-0002" || v.Tasks[1].ID != "T-0001" {
			t.Errorf("tasks %+v", v.Tasks)
		}
		if v.Superseded != nil || v.Evidence[ken.EvidenceHumanAssertion] == 0 {
			t.Errorf("%+v, evidence %v", v.Superseded, v.Evidence)
		}
		if v := k.show(name, func(o *entity.Options) { o.Superseded = true }); !slices.Equal(texts(v.Superseded), []string{"It is written in Perl."}) || v.Superseded[0].SupersededBy != next {
			t.Errorf("superseded %+v", v.Superseded)
		}
	}
}

// Bounds bound what is long; rules they don't.
func TestShowIsBounded(t *testing.T) {
	k := newKit(t)
	for i := range 1000 {
		k.rule(fmt.Sprintf("Never do %d.", i), "", "x1")
	}
	for i := range 100 {
		k.fact(fmt.Sprintf("Fact %d.", i), fmt.Sprintf("aspect %d", i%50), "x1")
		k.depends("x1", "uses", fmt.Sprintf("y%d", i), float64(i)/100)
	}
	v := k.show("x1", func(o *entity.Options) { o.Aspects, o.Attributes, o.Links = 3, 1, 4 })
	if len(v.Constraints) != 1000 || len(v.Aspects) != 3 || len(v.Aspects[0].Attributes) > 1 || len(v.Dependencies) != 4 || v.Dependencies[0].Strength != 0.99 {
		t.Errorf("%d rules, %d aspects, %d dependencies", len(v.Constraints), len(v.Aspects), len(v.Dependencies))
	}
}

// A circle of names and a circle of dependencies end, and every rule is there once.
func TestShowEndsInCircles(t *testing.T) {
	k := newKit(t)
	k.alias("a1", "b1")
	k.alias("b1", "a1")
	k.depends("a1", "requires", "c1", 1)
	k.depends("c1", "requires", "b1", 1)
	k.rule("Never.", "", "a1", "b1", "c1")
	v := k.show("b1")
	if len(v.Constraints) != 1 || v.Constraints[0].Distance != 0 || len(v.Dependencies) != 1 || len(v.Dependents) != 1 {
		t.Errorf("%+v", v)
	}
}

// A filter is kept on everything, so one scope's view tells nothing of another's.
func TestScopes(t *testing.T) {
	k := newKit(t)
	red, blue := ken.Scope{Type: ken.ScopeRepo, ID: "red"}, ken.Scope{Type: ken.ScopeRepo, ID: "blue"}
	hide := func(text string, change func(*ken.Claim)) {
		k.put(text, func(c *ken.Claim) { c.Scope = red; change(c) })
	}
	hide("Never tell the secret.", func(c *ken.Claim) { c.Entities, c.Constraint = []string{"vault"}, true })
	hide("vault uses secret", func(c *ken.Claim) {
		c.Kind, c.Entities, c.Aspect = ken.KindDependency, []string{"vault", "secret"}, "uses"
	})
	hide("secret is vault", func(c *ken.Claim) {
		c.Kind, c.Entities, c.Aspect = ken.KindAlias, []string{"vault", "secret door"}, "alias"
	})
	hide("secret: place", func(c *ken.Claim) { c.Kind, c.Entities, c.Aspect = ken.KindEntity, []string{"vault"}, "secret" })
	k.fact("The vault is blue.", "", "vault")
	ctx := context.Background()
	f := &ken.Filter{Scopes: []ken.Scope{blue}, Unscoped: true}
	v, err := entity.Show(ctx, k.s, "vault", f, func(o *entity.Options) { o.Superseded = true })
	if err != nil {
		t.Fatal(err)
	}
	g, err := entity.Neighbourhood(ctx, k.s, "vault", 3, f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := entity.Search(ctx, k.s, "", f, 10)
	if err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]any{"view": v, "graph": g, "search": all} {
		if b, err := json.Marshal(x); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("%s: %s, %v", what, b, err)
		}
	}
	_, err = entity.Show(ctx, k.s, "secret", f)
	if !errors.Is(err, ken.ErrNotFound) || strings.Contains(ken.Hint(err), "secret") {
		t.Errorf("%v %s", err, ken.Hint(err))
	}
}

func TestSearch(t *testing.T) {
	k := newKit(t)
	for name, n := range map[string]int{"payments": 3, "payments gateway": 1, "pay": 1, "the repayments": 2, "internal/payments": 1, "支払いサービス": 1, "ledger": 5, "🚀": 1} {
		for i := range n {
			k.fact(fmt.Sprintf("%s %d", name, i), "", name)
		}
	}
	k.alias("payments", "paycheck")
	k.task("T-0012", "open", "ledger")
	for text, want := range map[string]string{
		"payments":    "payments exact, payments gateway prefix, internal/payments word, repayments part",
		"The Payment": "payments prefix, payments gateway prefix, internal/payments word, repayments part",
		"legder":      "ledger near",
		"支払い":         "支払いサービス prefix",
		"🚀":           "🚀 exact",
		"gateway":     "payments gateway word",
		"t-00":        "t 0012 prefix",
		"nothing":     "",
		"!!!":         "",
		"paycheck":    "paycheck exact",
	} {
		got, err := entity.Search(context.Background(), k.s, text, nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, h := range got.Hits {
			out = append(out, h.Name+" "+h.Match)
		}
		spelled, err := entity.Spell("支払いサービス")
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.ReplaceAll(strings.Join(out, ", "), spelled, "支払いサービス"); s != want {
			t.Errorf("%s: %q, want %q", text, s, want)
		}
		if text == "paycheck" && !slices.Equal(got.Hits[0].Of, []string{"payments"}) {
			t.Errorf("%+v", got.Hits[0])
		}
	}
	all, err := entity.SearchFrom(context.Background(), k.s, "", nil, 1, 2)
	if err != nil || all.Total != 9 || len(all.Hits) != 2 || all.Hits[0].Name != "payments" || all.Hits[0].Match != entity.MatchAny {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := entity.Search(context.Background(), k.s, strings.Repeat("x", 1<<20), nil, 10); !errors.Is(err, ken.ErrInvalid) || len(err.Error()) > 1000 {
		t.Errorf("%.200v", err)
	}
}

// Names that differ in their form alone are one line, under the name with the most records.
func TestSearchFolded(t *testing.T) {
	k := newKit(t)
	for name, n := range map[string]int{"ledger": 5, "ledgers": 2, "billing retry": 1, "billing-retries": 3, "docs/ledger.md": 1, "docs/ledgers.md": 1, "note 1167": 1, "note 1168": 1} {
		for i := range n {
			k.fact(fmt.Sprintf("%s %d", name, i), "", name)
		}
	}
	got, err := entity.SearchFolded(context.Background(), k.s, "", nil, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range got.Hits {
		line := h.Name
		for _, a := range h.Alike {
			line += fmt.Sprintf(" + %s %d", a.Name, a.Records)
		}
		out = append(out, line)
	}
	if want := []string{"ledger + ledgers 2", "billing retries + billing retry 1", "note 1167", "note 1168", "docs/ledger.md", "docs/ledgers.md"}; got.Total != 6 || !slices.Equal(out, want) {
		t.Errorf("%d: %q, want %q", got.Total, out, want)
	}
	rest, err := entity.SearchFolded(context.Background(), k.s, "", nil, 5, 10)
	if err != nil || len(rest.Hits) != 1 || rest.Total != 6 {
		t.Errorf("%+v, %v", rest, err)
	}
}

func TestNeighbourhood(t *testing.T) {
	k := newKit(t)
	k.depends("a1", "requires", "b1", 0.9)
	k.depends("b1", "uses", "c1", 0.5)
	k.depends("c1", "uses", "d1", 0.5)
	k.depends("d1", "uses", "a1", 0.4)
	k.depends("e1", "informs", "bee", 0.3)
	k.alias("b1", "bee")
	k.task("T-0001", "open", "a1")
	k.task("T-0002", "done", "a1")
	k.rule("Never.", "", "bee")
	for depth, want := range map[int]string{
		1: "a1 b1 d1 t 0001 | a1 requires b1, d1 uses a1, t 0001 about a1",
		2: "a1 b1 d1 t 0001 c1 e1 | a1 requires b1, b1 uses c1, c1 uses d1, d1 uses a1, e1 informs b1, t 0001 about a1",
	} {
		g, err := entity.Neighbourhood(context.Background(), k.s, "a1", depth, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn(g); got != want {
			t.Errorf("depth %d: %s\nwant %s", depth, got, want)
		}
		for _, n := range g.Nodes {
			if n.Name == "b1" && (n.Constraints != 1 || n.Depth != 1) {
				t.Errorf("%+v", n)
			}
		}
	}
	for _, depth := range []int{0, -1, 4} {
		if _, err := entity.Neighbourhood(context.Background(), k.s, "a1", depth, nil); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func drawn(g entity.Graph) string {
	var nodes, edges []string
	for _, n := range g.Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, e := range g.Edges {
		edges = append(edges, e.Source+" "+e.Type+" "+e.Target)
	}
	return strings.Join(nodes, " ") + " | " + strings.Join(edges, ", ")
}

// Of a large neighbourhood the strongest is taken, always the same, and what is
// missing is counted.
func TestNeighbourhoodIsBoundedAndDeterministic(t *testing.T) {
	k := newKit(t)
	for i := range 300 {
		k.depends("hub", "uses", fmt.Sprintf("x%03d", i), float64(i%100)/100)
	}
	first, err := entity.Neighbourhood(context.Background(), k.s, "hub", 2, nil)
	if err != nil || len(first.Nodes) != entity.DefaultNodes || first.Left != 301-entity.DefaultNodes {
		t.Fatalf("%d nodes, %d left, %v", len(first.Nodes), first.Left, err)
	}
	for _, e := range first.Edges {
		if e.Strength < 0.8 {
			t.Errorf("%s is a weak one", e.Target)
		}
	}
	for range 3 {
		again, err := entity.Neighbourhood(context.Background(), k.s, "hub", 2, nil)
		if err != nil || drawn(again) != drawn(first) {
			t.Error("another one")
		}
	}
}

func ExampleShow() {
	s := memory.New(memory.Options{})
	ctx := context.Background()
	c, _ := ken.NewClaim("Never deploy on Fridays.", ken.FromHumanAssertion("ada", day, ""))
	c.Entities, c.Constraint = []string{"payments"}, true
	if _, err := s.WriteClaim(ctx, c); err != nil {
		fmt.Println(err)
	}
	v, err := entity.Show(ctx, s, "The Payments", nil)
	fmt.Println(v.Name, v.Constraints[0].Text, err)
	_, err = entity.Show(ctx, s, "paymnets", nil)
	fmt.Println(err, ken.Hint(err))
	// Output:
	// payments Never deploy on Fridays. <nil>
	// name: nothing is known of "paymnets" Did you mean "payments"?
}

// Thousands of names are searched while somebody types.
func BenchmarkSearch(b *testing.B) {
	k := newKit(b)
	for i := range 20000 {
		k.fact("x", "", fmt.Sprintf("service %d of team %d", i, i%97))
	}
	for _, text := range []string{"service 77", "servise 777", ""} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := entity.Search(context.Background(), k.s, text, nil, 20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
