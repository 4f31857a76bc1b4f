package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
)

func TestStages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agents []string
		want   [][]string
	}{
		{"a chain, declared backwards", []string{"c: artifact:b ->", "b: artifact:a -> artifact:b", "a: -> artifact:a"}, [][]string{{"a"}, {"b"}, {"c"}}},
		{"a diamond", []string{"a: -> artifact:a", "c: artifact:a -> artifact:c", "b: artifact:a -> artifact:b", "d: artifact:b artifact:c ->"},
			[][]string{{"a"}, {"c", "b"}, {"d"}}},
		{"as late as the latest need", []string{"a: -> artifact:a", "b: artifact:a -> artifact:b", "c: artifact:a artifact:b ->", "d: ->"},
			[][]string{{"a", "d"}, {"b"}, {"c"}}},
		{"two tokens of one agent", []string{"a: -> artifact:a artifact:b", "b: artifact:a artifact:b ->"}, [][]string{{"a"}, {"b"}}},
		{"outside", []string{"a: file:there symbol:S ->", "b: file:there ->"}, [][]string{{"a", "b"}}},
		{"produced although it is there", []string{"b: file:there ->", "a: -> file:there"}, [][]string{{"a"}, {"b"}}},
		{"one path in two spellings", []string{"b: file:./x//y/ ->", "a: -> file:x/y"}, [][]string{{"a"}, {"b"}}},
		{"nobody declares anything", []string{"a: ->", "a: ->"}, nil},
		{"nobody", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.New(agents(t, tt.agents...), existing("file:there", "symbol:S"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, names(p)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if (p == nil) != (tt.want == nil) {
				t.Errorf("the plan is %v", p)
			}
		})
	}
}

func TestNeedsSayWhereFrom(t *testing.T) {
	p, err := plan.New(agents(t, "b: artifact:a file:x ->", "a: -> artifact:a"), existing("file:x"))
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Need{{Token: token(t, "artifact:a"), From: "a"}, {Token: token(t, "file:x")}}
	if got := p.Steps()[1]; got.Agent.Name != "b" || got.Index != 0 || got.Stage != 2 || !cmp.Equal(want, got.Needs) {
		t.Errorf("%+v", got)
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agents []string
		want   []string
	}{
		{"itself", []string{"w: artifact:x -> artifact:x"},
			[]string{"agents[0].requires[0]: a cycle: w → w (it requires artifact:x, which it produces itself)"}},
		{"two", []string{"researcher: artifact:b -> artifact:a", "writer: artifact:a -> artifact:b"},
			[]string{"agents[0].requires[0]: a cycle: researcher → writer → researcher " +
				"(researcher makes artifact:a for writer, writer makes artifact:b for researcher)"}},
		{"the shortest of several, from the first agent", []string{"x: ->", "a: artifact:d artifact:b -> artifact:a", "b: artifact:a -> artifact:b",
			"c: artifact:b -> artifact:c", "d: artifact:c -> artifact:d", "behind: artifact:d ->"},
			[]string{"agents[1].requires[1]: a cycle: a → b → a (a makes artifact:a for b, b makes artifact:b for a)"}},
		{"two knots and one between them", []string{"a: artifact:b -> artifact:a", "b: artifact:a -> artifact:b", "m: artifact:a -> artifact:m",
			"c: artifact:d artifact:m -> artifact:c", "d: artifact:c -> artifact:d"},
			[]string{"agents[0].requires[0]: a cycle: a → b → a (a makes artifact:a for b, b makes artifact:b for a)",
				"agents[3].requires[0]: a cycle: c → d → c (c makes artifact:c for d, d makes artifact:d for c)"}},
		{"unmet", []string{"a: artifact:x file:y symbol:Z ->"},
			[]string{"agents[0].requires[0]: artifact:x: no agent produces it",
				"agents[0].requires[1]: file:y: it is not there, and no agent produces it",
				"agents[0].requires[2]: symbol:Z: the code has no such symbol, and no agent produces it"}},
		{"an artifact is never there already", []string{"a: artifact:there ->"}, []string{"agents[0].requires[0]: artifact:there: no agent produces it"}},
		{"two producers", []string{"a: -> artifact:x", "b: -> artifact:y artifact:x", "c: -> artifact:x"},
			[]string{"agents[1].produces[1]: artifact:x is produced by a already", "agents[2].produces[0]: artifact:x is produced by a already"}},
		{"twice in one list", []string{"a: file:there file:./there -> artifact:x artifact:x"},
			[]string{"agents[0].produces[1]: artifact:x is listed twice", "agents[0].requires[1]: file:there is listed twice"}},
		{"names", []string{"a: -> artifact:x", "A: ->", "a: ->"},
			[]string{"agents[1].name: A and a of agents[0] differ by case alone", "agents[2].name: a second agent called a, after agents[0]"}},
		{"everything at once", []string{"a: artifact:b artifact:gone -> artifact:a", "b: artifact:a -> artifact:b", "s: artifact:s -> artifact:s artifact:a"},
			[]string{"agents[0].requires[1]: artifact:gone: no agent produces it",
				"agents[0].requires[0]: a cycle: a → b → a (a makes artifact:a for b, b makes artifact:b for a)",
				"agents[2].produces[1]: artifact:a is produced by a already",
				"agents[2].requires[0]: a cycle: s → s (it requires artifact:s, which it produces itself)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.New(agents(t, tt.agents...), existing("file:there", "artifact:there"))
			if d := cmp.Diff(tt.want, faults(t, err)); d != "" || p != nil {
				t.Errorf("%v, -want +got\n%s", p, d)
			}
		})
	}
}

// Programs may construct tokens without ParseToken.
func TestTokensThatNobodyParsed(t *testing.T) {
	err := plan.Check([]plan.Agent{{Name: "a", Produces: []plan.Token{{Kind: "thing", Name: "x"}, {Kind: plan.File, Name: "./x"}}}, {Name: ""}})
	want := []string{`agents[0].produces[0]: "thing:x" is not artifact:NAME, file:PATH or symbol:NAME`,
		`agents[0].produces[1]: "file:./x" is not in its normal form, file:x`, "agents[1].name: is empty"}
	if d := cmp.Diff(want, faults(t, err)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// Check does not look at the project: it assumes that required files and symbols exist.
func TestCheck(t *testing.T) {
	if err := plan.Check(agents(t, "a: file:x symbol:Y ->")); err != nil {
		t.Error(err)
	}
	if err := plan.Check(agents(t, "a: artifact:x ->")); err == nil {
		t.Error("an artifact that nobody produces passes")
	}
}

func TestUnmetNamesTheNearest(t *testing.T) {
	err := plan.Check(agents(t, "a: artifact:repository-grahp ->", "b: -> artifact:repository-graph"))
	if ken.Hint(err) != "Did you mean artifact:repository-graph?" {
		t.Errorf("%v: %s", err, ken.Hint(err))
	}
}

func TestExistsIsAskedOnce(t *testing.T) {
	asked := map[plan.Token]int{}
	_, err := plan.New(agents(t, "a: file:x ->", "b: file:x artifact:y ->", "c: -> artifact:y file:z", "d: file:z ->"), func(t plan.Token) bool {
		asked[t]++
		return true
	})
	if d := cmp.Diff(map[plan.Token]int{token(t, "file:x"): 1}, asked); d != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, d)
	}
}

func TestWith(t *testing.T) {
	p, err := plan.New(agents(t, "d: artifact:b artifact:c ->", "b: artifact:a -> artifact:b", "c: -> artifact:c", "a: -> artifact:a", "alone: ->"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for names, want := range map[string]string{"d": "c a b d", "b": "a b", "alone b": "a alone b", "": "c a alone b d"} {
		got, err := p.With(strings.Fields(names)...)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", names, got, err)
		}
	}
	if _, err := p.With("alnoe"); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) != "Did you mean alone?" {
		t.Errorf("%v: %s", err, ken.Hint(err))
	}
	if _, err := (*plan.Plan)(nil).With("a"); !errors.Is(err, ken.ErrNotFound) {
		t.Error(err)
	}
	if got, err := (*plan.Plan)(nil).With(); err != nil || got != nil {
		t.Error(got, err)
	}
}

func TestMermaid(t *testing.T) {
	p, err := plan.New(agents(t, `b: artifact:a file:o"]x symbol:S ->`, "a: symbol:S -> artifact:a"), func(plan.Token) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	const want = `flowchart LR
    subgraph stage1["stage 1"]
        n0["a"]
    end
    subgraph stage2["stage 2"]
        n1["b"]
    end
    o0(["symbol#58;S"])
    o0 -.-> n0
    n0 -->|"artifact#58;a"| n1
    o1(["file#58;o#34;#93;x"])
    o1 -.-> n1
    o0 -.-> n1
`
	if d := cmp.Diff(want, p.Mermaid()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// large returns n agents in layers. Each requires the products of three agents in the previous layer.
func large(n int) (all []plan.Agent) {
	const width = 25
	for i := range n {
		a := plan.Agent{Name: fmt.Sprintf("agent-%d", i), Produces: []plan.Token{{Kind: plan.Artifact, Name: fmt.Sprint(i)}, {Kind: plan.File, Name: fmt.Sprintf("out/%d", i)}}}
		for k := range 3 {
			if from := i - i%width - width + (i+k*7)%width; from >= 0 {
				a.Requires = append(a.Requires, plan.Token{Kind: plan.Artifact, Name: fmt.Sprint(from)})
			}
		}
		all = append(all, a)
	}
	return all
}

func BenchmarkNew1000(b *testing.B) {
	all := large(1000)
	for b.Loop() {
		if p, err := plan.New(all, nil); err != nil || len(p.Stages()) != 40 {
			b.Fatal(err)
		}
	}
}

// All agents are in one cycle, the worst case.
func BenchmarkCycle1000(b *testing.B) {
	all := large(1000)
	all[0].Requires = []plan.Token{{Kind: plan.Artifact, Name: "999"}}
	for b.Loop() {
		if _, err := plan.New(all, nil); err == nil {
			b.Fatal("no cycle was found")
		}
	}
}
