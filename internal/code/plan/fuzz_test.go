package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

func TestTokensThatAreRefused(t *testing.T) {
	for _, s := range []string{"", "x", ":x", "artifact", "artifact:", "Artifact:x", "artifact: x", "artifact:x ", "artifact:a b", "artifact:a,b", "thing:x", "file:",
		"file:/etc/passwd", "file:../x", "file:a/../../x", "file:.", "file:a/..", `file:a\b`, "file:a\nb", "symbol:a\u202eb", "symbol:\xff", "symbol:" + strings.Repeat("x", 1001)} {
		if tok, err := plan.ParseToken(s); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" || tok != (plan.Token{}) {
			t.Errorf("%q: %v, %v", s, tok, err)
		}
	}
}

// FuzzParseToken checks that an accepted token is parsed again as the same token, and that no path leads out of the
// project.
func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"artifact:repository-graph", "file:src/SessionManager.cs", "symbol:ISessionStore", "symbol:(*store.Engine).Put", "file:./a//b/../c/", "file:a b", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := plan.ParseToken(s)
		if err != nil {
			if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" || len(err.Error()) > 500 {
				t.Fatalf("%q is refused without saying how to go on: %v", s, err)
			}
			return
		}
		if again, err := plan.ParseToken(tok.String()); err != nil || again != tok {
			t.Fatalf("%q is %v, and that is %v, %v", s, tok, again, err)
		}
		b, err := json.Marshal(tok)
		var back plan.Token
		if err := errors.Join(err, json.Unmarshal(b, &back)); err != nil || back != tok {
			t.Fatalf("%v in JSON is %s, and that %v, %v", tok, b, back, err)
		}
		if tok.Kind == plan.File && (strings.HasPrefix(tok.Name, "/") || slices.Contains(strings.Split(tok.Name, "/"), "..")) {
			t.Fatalf("%q leads out of the project: %s", s, tok.Name)
		}
	})
}

// FuzzPlan makes agents from bytes, each of which is an edge from a requiring agent to a producing one. It checks the
// plan against the definition.
func FuzzPlan(f *testing.F) {
	for _, s := range []string{"", "\x01\x10\x21", "\x10\x01", "\x11", "\x10\x21\x32\x13", "\x10\x20\x30\x31\x32\x21"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const n = 16
		edges := make([][2]int, 0, len(in))
		for _, b := range in {
			edges = append(edges, [2]int{int(b >> 4), int(b & 15)})
		}
		checkPlan(t, n, edges)
	})
}

func TestRandomPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	cyclic := 0
	rounds := race.Pick(2000, 200)
	for range rounds {
		n := 1 + r.IntN(30)
		edges := make([][2]int, r.IntN(2*n))
		for i := range edges {
			edges[i] = [2]int{r.IntN(n), r.IntN(n)}
			if e := &edges[i]; r.IntN(20) > 0 { // mostly without cycles
				*e = [2]int{max(e[0], e[1]), min(e[0], e[1])}
			}
		}
		if checkPlan(t, n, edges) {
			cyclic++
		}
	}
	if cyclic < rounds/10 || cyclic > rounds*9/10 {
		t.Errorf("%d of %d plans are cyclic: these are no samples of both", cyclic, rounds)
	}
}

// checkPlan plans n agents; the agent edge[0] requires a product of edge[1]. It reports whether there is a cycle.
func checkPlan(t *testing.T, n int, edges [][2]int) (cyclic bool) {
	t.Helper()
	all := make([]plan.Agent, n)
	reach := make([][]bool, n) // over needs
	for i := range all {
		all[i] = plan.Agent{Name: fmt.Sprint("a", i), Produces: []plan.Token{{Kind: plan.Artifact, Name: fmt.Sprint(i)}}}
		reach[i] = make([]bool, n)
	}
	for _, e := range edges {
		tok := plan.Token{Kind: plan.Artifact, Name: fmt.Sprint(e[1])}
		if !slices.Contains(all[e[0]].Requires, tok) {
			all[e[0]].Requires = append(all[e[0]].Requires, tok)
		}
		reach[e[0]][e[1]] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	for i := range n {
		cyclic = cyclic || reach[i][i]
	}
	p, err := plan.New(all, nil)
	if (err != nil) != cyclic {
		t.Fatalf("%v: cyclic %t, but %v", edges, cyclic, err)
	}
	if err != nil {
		for _, f := range faults(t, err) {
			checkCycle(t, f, all)
		}
		return true
	}
	stage := map[plan.Token]int{} // in which it is made
	for _, s := range p.Steps() {
		stage[s.Agent.Produces[0]] = s.Stage
	}
	for i, s := range p.Steps() {
		want := 1
		for _, tok := range s.Agent.Requires {
			want = max(want, stage[tok]+1)
		}
		if s.Stage != want {
			t.Fatalf("%v: %s is in stage %d, not %d", edges, s.Agent.Name, s.Stage, want)
		}
		if i > 0 {
			if b := p.Steps()[i-1]; b.Stage > s.Stage || b.Stage == s.Stage && b.Index > s.Index {
				t.Fatalf("%v: %s stands before %s", edges, b.Agent.Name, s.Agent.Name)
			}
		}
	}
	if len(p.Steps()) != n {
		t.Fatalf("%d of %d agents", len(p.Steps()), n)
	}
	return false
}

// checkCycle checks a reported cycle edge by edge.
func checkCycle(t *testing.T, fault string, all []plan.Agent) {
	t.Helper()
	_, circle, ok := strings.Cut(fault, "a cycle: ")
	circle, _, _ = strings.Cut(circle, " (")
	way := strings.Split(circle, " → ")
	if !ok || len(way) < 2 || way[0] != way[len(way)-1] {
		t.Fatalf("no cycle: %s", fault)
	}
	for i, name := range way[1:] {
		k := slices.IndexFunc(all, func(a plan.Agent) bool { return a.Name == name })
		if k < 0 || !slices.Contains(all[k].Requires, plan.Token{Kind: plan.Artifact, Name: way[i][1:]}) {
			t.Fatalf("%s needs nothing of %s: %s", name, way[i], fault)
		}
	}
}
