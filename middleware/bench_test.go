//go:build unix

package middleware_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// BenchmarkAssemble assembles a new hybrid turn each time, with an embedder in
// process and a question of ten words. The floor is off, because synthetic
// claims match no question well.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) { c.Retrieval.Deadline, c.Retrieval.Floor = 30*time.Second, 0 }),
				func(o *middleware.Options) { o.Embedder = synth.NewEmbedder(256) })
			src := synth.New(1)
			for left := n; left > 0; left -= 1000 {
				batch := make([]ken.Claim, min(left, 1000))
				for i := range batch {
					batch[i] = src.Claim()
				}
				learn(b, l, batch...)
			}
			var took []time.Duration
			items := 0
			b.ReportAllocs()
			for b.Loop() {
				turn := asked(src.Question())
				start := time.Now()
				r := l.Assemble(context.Background(), turn).Receipt
				took = append(took, time.Since(start))
				if r.Mode != ken.ModeHybrid {
					b.Fatalf("mode %s: %s", r.Mode, r.Cause)
				}
				items += len(r.Items)
			}
			synth.Percentiles(b, took)
			b.ReportMetric(float64(items)/float64(len(took)), "items/op")
		})
	}
}

// BenchmarkAssembleWithMemory assembles the same turn with 10,000 claims: once
// with nothing else, and once with 200 hot claims, 500 episodes and 50
// playbooks. Without the floor, two playbooks are in every turn.
func BenchmarkAssembleWithMemory(b *testing.B) {
	for _, memory := range []bool{false, true} {
		b.Run(fmt.Sprintf("memory=%v", memory), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) {
				c.Retrieval.Deadline, c.Retrieval.Floor, c.Middleware.Journal = 30*time.Second, 0, false
			}),
				func(o *middleware.Options) { o.Embedder = synth.NewEmbedder(256) })
			src := synth.New(1)
			batch := make([]ken.Claim, 10_000)
			for i := range batch {
				batch[i] = src.Claim()
			}
			learn(b, l, batch...)
			if memory {
				learn(b, l, remembered(src)...)
			}
			src = synth.New(2) // the same questions for both
			var took []time.Duration
			chars := 0
			b.ReportAllocs()
			for b.Loop() {
				turn := asked(src.Question())
				turn.Session = fmt.Sprint("session ", len(took))
				start := time.Now()
				r := l.Assemble(context.Background(), turn).Receipt
				took = append(took, time.Since(start))
				if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
					b.Fatalf("mode %s: %s; %q", r.Mode, r.Cause, r.Degraded)
				}
				chars += r.Chars
			}
			synth.Percentiles(b, took)
			b.ReportMetric(float64(chars)/float64(len(took)), "chars/op")
		})
	}
}

// remembered is what a year of work leaves beside its facts.
func remembered(src *synth.Source) []ken.Claim {
	var out []ken.Claim
	add := func(n int, kind ken.Kind, text func() string) {
		for i := range n {
			c := src.Claim()
			c.Kind, c.Text, c.Heading = kind, text(), src.Text(3)
			c.Session, c.CreatedAt = fmt.Sprint(kind, i), monday.Add(time.Duration(i)*time.Hour)
			out = append(out, c)
		}
	}
	lines := func(n, words int) func() string {
		return func() string {
			var b strings.Builder
			for range n {
				b.WriteString("Part: " + src.Text(words) + ".\n")
			}
			return b.String()
		}
	}
	add(200, ken.KindHot, func() string { return src.Text(20) })
	add(500, ken.KindEpisode, lines(8, 20))
	add(50, ken.KindPlaybook, func() string { return src.Text(25) + ".\n\n" + lines(30, 10)() })
	return out
}

// BenchmarkBesideHarvests assembles forty new turns a second with 10,000 claims: once
// alone, and once while a thousand sessions, or KEN_BENCH_HARVESTS, wait to be harvested.
// behind-p99 may be twice alone-p99. harvests/s shows that the queue gets shorter
// meanwhile. KEN_BENCH_TURNS is how many turns each, 800 if nothing is set.
func BenchmarkBesideHarvests(b *testing.B) {
	number := func(name string, n int) int {
		if env := os.Getenv(name); env != "" {
			var err error
			if n, err = strconv.Atoi(env); err != nil {
				b.Fatalf("%s: %v", name, err)
			}
		}
		return n
	}
	queued, turns := number("KEN_BENCH_HARVESTS", 1000), number("KEN_BENCH_TURNS", 800)
	model, err := builtin.Open()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	begin := func(foreground, harvests bool) *middleware.Layer {
		return open(b, settings(func(c *config.Config) { c.Middleware.Harvest = harvests }), func(o *middleware.Options) {
			o.Root, o.Foreground, o.Embedder = dir, foreground, model
		})
	}
	ctx := context.Background()
	src := synth.New(1)
	fill := begin(true, false)
	for range 10 {
		batch := make([]ken.Claim, 1000)
		for i := range batch {
			batch[i] = fact(b, "The %s service listens on port %d and %s.", src.Text(1), i, src.Text(8))
		}
		learn(b, fill, batch...)
	}
	journal := fill.Operator().Journal("")
	for i := range queued {
		a := session.About{ID: fmt.Sprint("ended-", i)}
		_, err := journal.Append(ctx, a, []ken.Message{
			{Role: "user", Text: fmt.Sprintf("We decided to move the %s service to port %d. Which host does it need, and %s?", src.Text(1), 2000+i, src.Text(8))},
			{Role: "assistant", Text: fmt.Sprintf("The %s service needs host-%d. %s. Then restart it, since %s.", src.Text(1), i, src.Text(20), src.Text(20))},
		})
		if err == nil {
			_, err = journal.End(ctx, a.ID, session.Closed)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := fill.Close(); err != nil {
		b.Fatal(err)
	}
	round := 0
	measure := func(l *middleware.Layer, n int) []time.Duration {
		took := make([]time.Duration, 0, n)
		pace := time.NewTicker(time.Second / 40)
		defer pace.Stop()
		for range n {
			<-pace.C
			round++
			t := asked("Which port does the " + src.Text(1) + " service listen on? " + src.Text(6))
			t.Session = fmt.Sprint("asking-", round)
			start := time.Now()
			r := l.Assemble(ctx, t).Receipt
			took = append(took, time.Since(start))
			if r.Mode != ken.ModeHybrid && len(took) > 1 {
				b.Logf("mode %s: %s %v", r.Mode, r.Cause, r.Degraded)
			}
		}
		return took
	}
	left := func(l *middleware.Layer) int {
		list, err := l.Operator().Jobs("").List(ctx, jobs.Queued, jobs.Running)
		if err != nil {
			b.Fatal(err)
		}
		return len(list)
	}
	for b.Loop() {
		l := begin(false, false)
		measure(l, turns/4) // until the work at the start is done
		alone := measure(l, turns)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		l = begin(false, true)
		before, start := left(l), time.Now()
		behind := measure(l, turns)
		done := before - left(l)
		b.ReportMetric(float64(done)/time.Since(start).Seconds(), "harvests/s")
		b.ReportMetric(float64(before), "queued")
		for name, took := range map[string][]time.Duration{"alone": alone, "behind": behind} {
			p50, p99 := percentile(took, .5), percentile(took, .99)
			b.ReportMetric(float64(p50.Microseconds())/1000, name+"-p50-ms")
			b.ReportMetric(float64(p99.Microseconds())/1000, name+"-p99-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// percentile sorts took.
func percentile(took []time.Duration, p float64) time.Duration {
	slices.Sort(took)
	return took[int(p*float64(len(took)-1))]
}

// BenchmarkRecorder assembles a turn of one of 200 sessions and records its answer.
// Each session is a conversation that grows to 20 messages of 300 bytes and then
// starts anew. The store has a hundred claims. cpu-µs/op is the CPU time of the
// whole process; the difference to "none" is the cost of recording.
func BenchmarkRecorder(b *testing.B) {
	for _, keep := range []struct {
		name     string
		journal  bool
		receipts int
	}{{"none", false, 0}, {"journal", true, 0}, {"all", true, 2000}} {
		b.Run(keep.name, func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) {
				c.Middleware.Journal, c.Session.Receipts, c.Retrieval.Deadline = keep.journal, keep.receipts, 30*time.Second
			}))
			var facts []ken.Claim
			for i := range 100 {
				facts = append(facts, fact(b, "service number %d of the payments cluster listens on port %d behind the ledger", i, 8000+i))
			}
			learn(b, l, facts...)
			filler := strings.Repeat("The retry loop waits for the timer before it asks. ", 5)
			const sessions = 200
			said := make([][]ken.Message, sessions)
			rounds := make([]int, sessions)
			flush := func() {
				if err := l.End(context.Background(), "", "nobody"); err != nil {
					b.Fatal(err)
				}
			}
			before := cpu(b)
			for i := 0; b.Loop(); i++ {
				n := i % sessions
				if len(said[n]) >= 20 {
					said[n] = nil
					rounds[n]++
				}
				question := fmt.Sprintf("On which port does service number %d of the payments cluster listen? %s", i%100, filler)
				said[n] = append(said[n], ken.Message{Role: "user", Text: question})
				t := ken.Turn{Session: fmt.Sprintf("session-%d-%d", n, rounds[n]), Messages: said[n]}
				r := l.Assemble(context.Background(), t).Receipt
				if len(r.Degraded) > 0 {
					b.Fatal(r.Degraded)
				}
				answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("Service %d listens on port %d. %s", i, 8000+i%100, filler)}
				l.Answered(t, answer)
				said[n] = append(said[n], answer)
				if i%200 == 199 { // so that nothing is left out
					flush()
				}
			}
			flush()
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// cpu is the time that this process spent on processors so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAssembleElsewhere is BenchmarkAssembleWithMemory's turn, once in the
// process that holds the store and once in one that asks it over the socket.
func BenchmarkAssembleElsewhere(b *testing.B) {
	root := b.TempDir()
	assembleElsewhere(b, func(string) string { return root }, "")
}

// BenchmarkAssembleOnAnotherNode does the same with two nodes that share an engine: once on
// the node that holds the owner, and once on the other node, over a connection between them.
func BenchmarkAssembleOnAnotherNode(b *testing.B) {
	roots := map[string]string{"holder": b.TempDir(), "client": b.TempDir()}
	assembleElsewhere(b, func(role string) string { return roots[role] }, logtest.StartNATS(b, 3).URL())
}

func assembleElsewhere(b *testing.B, root func(role string) string, engine string) {
	layers := map[string]*middleware.Layer{}
	for _, role := range []string{"holder", "client"} {
		layers[role] = open(b, settings(func(c *config.Config) {
			c.Retrieval.Deadline, c.Retrieval.Floor, c.Middleware.Journal, c.Store.URL = 30*time.Second, 0, false, engine
		}), func(o *middleware.Options) { o.Root, o.Embedder = root(role), synth.NewEmbedder(256) })
	}
	src := synth.New(1)
	for range 10 {
		batch := make([]ken.Claim, 1000)
		for i := range batch {
			batch[i] = src.Claim()
		}
		learn(b, layers["holder"], batch...)
	}
	for _, memory := range []bool{false, true} {
		if memory {
			learn(b, layers["holder"], remembered(src)...)
		}
		for _, role := range []string{"holder", "client"} {
			b.Run(fmt.Sprintf("memory=%v/%s", memory, role), func(b *testing.B) {
				src := synth.New(2) // the same questions for both
				var took []time.Duration
				b.ReportAllocs()
				for b.Loop() {
					turn := asked(src.Question())
					turn.Session = fmt.Sprint("session ", memory, len(took))
					start := time.Now()
					r := layers[role].Assemble(context.Background(), turn).Receipt
					took = append(took, time.Since(start))
					if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
						b.Fatalf("mode %s: %s; %q", r.Mode, r.Cause, r.Degraded)
					}
				}
				synth.Percentiles(b, took)
			})
		}
	}
}

// BenchmarkWouldForget looks through 100,000 claims, a tenth of which are derived from
// another one.
func BenchmarkWouldForget(b *testing.B) {
	l := open(b, settings())
	ids := learn(b, l, fact(b, "The on-call phone of Priya is +49 151 2345678."))
	for range 100 {
		var claims []ken.Claim
		for i := range 1000 {
			c := fact(b, "Service %d of the payments cluster %s listens on port %d, and is restarted by its owners alone.", i, ids[len(ids)-1][20:], 8000+i)
			if i%10 == 0 {
				c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceRepositoryMemory, ID: ids[len(ids)-1]})
			}
			claims = append(claims, c)
		}
		ids = append(ids[:1], learn(b, l, claims...)...)
	}
	b.ResetTimer()
	for b.Loop() {
		would, err := l.Operator().WouldForget(b.Context(), "", ids[len(ids)-1])
		if err != nil || len(would.Claims) == 0 {
			b.Fatal(fmt.Sprint(len(would.Claims)), err)
		}
	}
}

// BenchmarkTurnWithSymbols measures the time for code in a turn that names three symbols,
// different ones each time. The symbols are those of a project and 200,000 synthetic ones.
// One variant has weight high.
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
			base, err := l.Operator().ReadCode(context.Background())
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

// BenchmarkTurnAfterEdit measures the time for code in a turn right after a tool call
// has written a file of a project with 200,000 symbols. The turn has the new symbol.
func BenchmarkTurnAfterEdit(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		b.Run(map[bool]string{false: "changed", true: "new"}[fresh], func(b *testing.B) {
			root := manySymbols(b)
			l := open(b, settings(func(c *config.Config) { c.Knowledge.DBPath = b.TempDir() }), inFolder(root))
			if _, err := l.Operator().ReadCode(context.Background()); err != nil {
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
