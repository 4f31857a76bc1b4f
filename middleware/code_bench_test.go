package middleware_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// BenchmarkTurnWithSymbols is what the code takes of a turn that names three symbols, each
// time others, of a project's own code and of 200,000 made up ones; and with much weight.
func BenchmarkTurnWithSymbols(b *testing.B) {
	for _, bc := range []struct {
		name string
		root func(b *testing.B) string
	}{{"ken", func(*testing.B) string { return ".." }}, {"200k", manySymbols}} {
		b.Run(bc.name, func(b *testing.B) {
			c := settings(func(c *config.Config) {
				c.Knowledge.DBPath, c.Repository.Exclude = b.TempDir(), []string{"testdata", "clients"}
			})
			l := open(b, c, func(o *middleware.Options) { o.Root = bc.root(b) })
			base, err := l.ReadCode(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			b.Logf("%+v", base.View().Counts())
			names := symbolNames(base.View())
			for _, weight := range []ken.Weight{ken.WeightDefault, ken.WeightHigh} {
				b.Run(weight.String(), func(b *testing.B) {
					var took []time.Duration
					cards := 0
					for i := 0; b.Loop(); i++ {
						turn := asked(fmt.Sprintf("Why does `%s` call `%s`, and what of `%s`?", names[3*i%len(names)], names[(3*i+1)%len(names)], names[(3*i+2)%len(names)]))
						turn.Weight = weight
						r := l.Assemble(context.Background(), turn).Receipt
						took = append(took, time.Duration(r.MS["graph"]*float64(time.Millisecond)))
						if len(r.Degraded) > 0 {
							b.Fatalf("degraded: %q", r.Degraded)
						}
						cards += len(cardsIn(&r))
					}
					synth.Percentiles(b, took)
					b.ReportMetric(float64(cards)/float64(len(took)), "cards/op")
				})
			}
		})
	}
}

// symbolNames are names of types, functions and methods, with what they belong to, in an
// order that has nothing to do with where they are.
func symbolNames(v *codegraph.View) (out []string) {
	for _, k := range []codegraph.Kind{codegraph.KindType, codegraph.KindInterface, codegraph.KindFunction, codegraph.KindMethod} {
		for _, text := range []string{"a", "e", "s", "r", "new", "read"} {
			found, _ := v.Search(text, []codegraph.Kind{k}, 1000)
			for _, n := range found {
				if !n.Test && !n.External {
					out = append(out, n.Qualified)
				}
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	mixed := make([]string, 0, len(out))
	for i := range out {
		mixed = append(mixed, out[i*7919%len(out)])
	}
	return mixed
}

// manySymbols writes a project with 200,000 symbols.
func manySymbols(b *testing.B) string {
	root := b.TempDir()
	files := map[string]string{"go.mod": "module example.com/many\n"}
	for i := range 2000 {
		files[fmt.Sprintf("p%d/p.go", i)] = manyIn(i)
	}
	put(b, root, files)
	return root
}

// manyIn is one file of it.
func manyIn(i int) string {
	text := fmt.Sprintf("package p%d\n\nimport \"example.com/many/p%d\"\n\nvar _ p%d.Type0\n\n", i, (i+1)%2000, (i+1)%2000)
	for k := range 20 {
		text += fmt.Sprintf("// Type%d is one of many.\ntype Type%d struct{ First, Second int }\n\n// Read%d reads.\nfunc (t *Type%d) Read%d() int { return New%d(0).First + p%d.New%d(1).Second }\n\n// New%d makes one.\nfunc New%d(n int) *Type%d { return &Type%d{} }\n\n", k, k, k, k, k, k, (i+1)%2000, k, k, k, k, k)
	}
	return text
}

// BenchmarkTurnAfterEdit is what the code takes of a turn right after a tool call has
// written a file of a project with 200,000 symbols: the new symbol is in it.
func BenchmarkTurnAfterEdit(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		b.Run(map[bool]string{false: "changed", true: "new"}[fresh], func(b *testing.B) {
			root := manySymbols(b)
			l := open(b, settings(patient, func(c *config.Config) { c.Knowledge.DBPath = b.TempDir() }), inFolder(root))
			if _, err := l.ReadCode(context.Background()); err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				name := fmt.Sprintf("BrandNew%d", i)
				p, text := fmt.Sprintf("p%d/p.go", i%2000), manyIn(i%2000)
				if fresh {
					p, text = fmt.Sprintf("p%d/new%d.go", i%2000, i), fmt.Sprintf("package p%d\n", i%2000)
				}
				b.StopTimer()
				put(b, root, map[string]string{p: fmt.Sprintf("%s\n// %s is new.\nfunc %s() {}\n", text, name, name)})
				b.StartTimer()
				id := fmt.Sprint("c", i)
				r := l.Assemble(context.Background(), ken.Turn{Session: "s", Messages: []ken.Message{
					{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: "Write", Arguments: fmt.Sprintf(`{"file_path":%q,"content":"x"}`, p)}}},
					{Role: "tool", ToolCallID: id, Text: "ok"}, {Role: "user", Text: "What does " + name + " do?"}}}).Receipt
				if len(cardsIn(&r)) != 1 {
					b.Fatalf("%q\n%s", r.Degraded, r.Block)
				}
				took = append(took, time.Duration(r.MS["graph"]*float64(time.Millisecond)))
			}
			synth.Percentiles(b, took)
		})
	}
}
