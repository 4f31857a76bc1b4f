package metrics_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

var update = flag.Bool("update", false, "rewrite testdata and docs/metrics.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape returns what a scraper gets.
func scrape(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// own are the lines that are not about the runtime and the process.
func own(exposition string) string {
	var b strings.Builder
	for line := range strings.Lines(exposition) {
		if strings.Contains(line, "ken_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./internal/run/telemetry/metrics -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is out of date; run go test ./internal/run/telemetry/metrics -update (-file +code):\n%s", path, d)
	}
}

// receipt is a turn with a bit of everything.
func receipt() *ken.Receipt {
	return &ken.Receipt{Turn: "t", Owner: "o", Session: "s", Mode: ken.ModeLate, Cause: "vector: not there within 150ms", Block: "[Pipeline Knowledge]",
		Items: []ken.Item{{Tier: ken.Verified, Chars: 100}, {Tier: ken.Verified, Chars: 20}, {Tier: ken.Guessed, Chars: 3}},
		Cut:   []ken.Cut{{Reason: ken.CutBudget}, {Reason: ken.CutFloor}, {Reason: ken.CutBudget}}, Degraded: []string{"vector: not there within 150ms"},
		CachedBytes: 1000, NewBytes: 234, OverflowedConstraints: 2,
		MS: map[string]float64{"total": 2, "assemble": 1.9, "intent": 0.1, "retrieve": 1.2, "keyword": 0.7, "budget": 0.3}}
}

// everything has each metric counted once, with values that are always the same.
func everything() *metrics.Metrics {
	m := metrics.New()
	m.Build("1.2.3", "abcdef")
	m.Turn(receipt())
	m.Turn(&ken.Receipt{Mode: ken.ModeHybrid, Reused: true, Items: []ken.Item{{Chars: 5}}, MS: map[string]float64{"total": 0.2, "intent": 9}})
	m.Taint("flag")
	m.Request("POST /v1/chat/completions", 200, 1200*time.Millisecond, 340*time.Millisecond)
	m.Request("GET /v1/models", 0, 2*time.Millisecond, 0)
	m.Stream()
	m.UpstreamError("timeout")
	m.Untouched("memory")
	m.Policy("side:title")
	m.Usage("gpt-5", 120, 30, 100)
	records, events, embedded := 7, uint64(9), 5
	m.Watch("default", func(context.Context) (metrics.State, error) {
		return metrics.State{Records: &records, Events: &events, Embedded: &embedded,
			Jobs: map[string]int{"queued": 1, "dead": 2}, Filed: map[string]uint64{"rules": 6, "model": 4}}, nil
	})
	m.WatchAttention("default", func(context.Context) (map[string]int, error) { return map[string]int{"warning": 3}, nil })
	m.WatchWork(func() metrics.Work {
		return metrics.Work{Written: 11, Lost: 1, Waiting: 2, Harvested: 4, Retried: 3, Dead: 1}
	})
	m.WatchBreaker("embeddings", func() string { return "half-open" })
	m.WatchUsage(func() []usage.Row {
		return []usage.Row{{Key: "ci", Owner: "default", Model: "gpt-5", Requests: 3, Input: 100, Cached: 40, Output: 20, Cost: .25},
			{Key: "ci", Owner: "default", Requests: 1}}
	})
	return m
}

func TestExposition(t *testing.T) {
	got := own(scrape(t, everything()))
	golden(t, filepath.Join("testdata", "metrics.txt"), strings.ReplaceAll(got, runtime.Version(), "GOVERSION"))
}

func TestReferenceFile(t *testing.T) {
	golden(t, filepath.Join("..", "..", "..", "..", "docs", "metrics.md"), metrics.Reference())
}

// The served and the documented metrics are the same.
func TestEveryMetricIsDocumented(t *testing.T) {
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (ken_\S+) (\S+)$`).FindAllStringSubmatch(scrape(t, everything()), -1) {
		served[m[1]+" "+m[2]] = true
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ken_[a-z_]+)` \\| (\\S+) \\|").FindAllStringSubmatch(metrics.Reference(), -1) {
		documented[m[1]+" "+m[2]] = true
	}
	if d := cmp.Diff(documented, served); d != "" || len(served) < 25 {
		t.Errorf("%d served (-documented +served):\n%s", len(served), d)
	}
}

func TestExpositionIsLint(t *testing.T) {
	problems, err := promlint.New(bytes.NewReader([]byte(scrape(t, everything())))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "ken_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// The metrics do not grow with the number of sessions or models: a gateway may run
// for a year, and a hostile client may invent models.
func TestNothingGrowsWithSessionsOrModels(t *testing.T) {
	m := everything()
	series := func() int { return strings.Count(scrape(t, m), "\n") }
	feed := func(from, to int) {
		for i := range to - from {
			name := fmt.Sprintf("x%d", from+i)
			r := receipt()
			r.Turn, r.Session, r.Owner, r.Cause, r.Mode = name, name, name, "vector: dial "+name, ken.Mode(name)
			r.Items[0].ID, r.Items[0].Tier = name, ken.Tier(i)
			r.Cut = append(r.Cut, ken.Cut{Reason: ken.CutReason(name)})
			r.Degraded, r.MS[name] = []string{name + ": broken"}, 1
			m.Turn(r)
			m.Usage(name, 1, 1, 1)
			m.Usage(strings.Repeat(name, 100), 1, 1, 1)
			m.Usage("\xff"+name, 1, 1, 1)
			m.Request("GET /"+name, i, time.Second, time.Second)
			m.UpstreamError(name)
			m.Untouched(name)
			m.Taint(name)
			m.Watch(name, func(context.Context) (metrics.State, error) { return metrics.State{Jobs: map[string]int{name: 1}}, nil })
		}
	}
	feed(0, 1000)
	before := series()
	feed(1000, 10_000)
	if after := series(); after != before || after > 2600 {
		t.Errorf("%d lines after a thousand of each, %d after ten thousand", before, after)
	}
	if s := scrape(t, m); !strings.Contains(s, `ken_gen_ai_tokens_total{model="gpt-5",type="input"} 120`) || !strings.Contains(s, `model="other"`) {
		t.Error("the model that was there first has lost its label, or nothing counts as other")
	}
}

func TestTurnIsCounted(t *testing.T) {
	got := scrape(t, everything())
	for _, line := range []string{
		`ken_turns_total{cause="deadline",mode="late"} 1`,
		`ken_turns_total{cause="none",mode="hybrid"} 1`,
		`ken_turns_reused_total 1`,
		`ken_turns_with_knowledge_total 1`,
		`ken_assemble_duration_seconds_count 2`,
		`ken_assemble_duration_seconds_sum 0.0022`,
		`ken_stage_duration_seconds_count{stage="intent"} 1`, // the reused one's was counted when it was composed
		`ken_injected_items_total{tier="Verified"} 2`,
		`ken_injected_items_total{tier="Guessed"} 1`,
		`ken_injected_chars_total{tier="Verified"} 120`,
		`ken_cuts_total{reason="budget"} 2`,
		`ken_degraded_total{stage="vector"} 1`,
		`ken_overflowed_constraints_total 2`,
		`ken_prompt_bytes_total{cache="shared"} 1000`,
		`ken_prompt_bytes_total{cache="new"} 234`,
		`ken_http_requests_total{route="GET /v1/models",status="0xx"} 1`,
		`ken_http_streams 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

func TestStreamsEnd(t *testing.T) {
	m := metrics.New()
	a, b := m.Stream(), m.Stream()
	a()
	if s := scrape(t, m); !strings.Contains(s, "ken_http_streams 1\n") {
		t.Error(own(s))
	}
	b()
	if s := scrape(t, m); !strings.Contains(s, "ken_http_streams 0\n") {
		t.Error(own(s))
	}
}

// Two layers in one process, and a program with its own metrics.
func TestInstancesDoNotCollide(t *testing.T) {
	a, b := metrics.New(), metrics.New()
	a.Taint("flag")
	if s := scrape(t, b); strings.Contains(s, `ken_taints_total{`) {
		t.Error("one counts what the other saw")
	}
}

// Who asks for one owner gets that owner's figures, and nothing that others add to.
func TestHandlerOfAnOwner(t *testing.T) {
	m := everything()
	asked := 0
	m.Watch("bob", func(context.Context) (metrics.State, error) { asked++; n := 5; return metrics.State{Records: &n}, nil })
	m.Watch("ana", func(context.Context) (metrics.State, error) { n := 3; return metrics.State{Records: &n}, nil })
	for owner, want := range map[string][]string{
		"ana":    {`ken_records{owner="ana"} 3`, `ken_source_up{source="store:ana"} 1`},
		"nobody": nil,
		"":       nil,
	} {
		w := httptest.NewRecorder()
		m.HandlerOf(owner).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		var got []string
		for line := range strings.Lines(w.Body.String()) {
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "ken_build_info{") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if d := cmp.Diff(want, got); d != "" || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "ken_build_info{") {
			t.Errorf("%q: %d (-want +got):\n%s", owner, w.Code, d)
		}
	}
	if asked > 0 {
		t.Error("bob's store was asked for another's figures")
	}
}

func TestNilCountsNothing(t *testing.T) {
	var m *metrics.Metrics
	m.Build("", "")
	m.Turn(receipt())
	m.Request("", 200, 1, 1)
	m.Stream()()
	m.UpstreamError("x")
	m.Untouched("x")
	m.Usage("m", 1, 1, 1)
	m.Taint("flag")
	m.Watch("o", nil)
	m.WatchAttention("o", nil)
	m.WatchWork(nil)
	m.WatchBreaker("b", nil)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d", w.Code)
	}
}

// If the process of a store hangs, for example behind a socket, the metrics
// must still be served, because they are needed then.
func TestSourceThatHangsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := everything()
		hang, calls := make(chan struct{}), atomic.Int32{}
		m.Watch("stuck", func(context.Context) (metrics.State, error) {
			calls.Add(1)
			<-hang // deaf to its context, too
			return metrics.State{}, nil
		})
		for range 3 {
			begin := time.Now()
			got := scrape(t, m)
			if d := time.Since(begin); d > metrics.SourceTimeout {
				t.Errorf("a scrape took %v", d)
			}
			for _, line := range []string{`ken_source_up{source="store:stuck"} 0`, `ken_source_up{source="store:default"} 1`, `ken_records{owner="default"} 7`} {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("no line %s", line)
				}
			}
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("asked %d times while the first call hung", n)
		}
		close(hang)
		synctest.Wait()
		if got := scrape(t, m); !strings.Contains(got, `ken_source_up{source="store:stuck"} 1`) {
			t.Error("it never comes back")
		}
	})
}

func TestSourceThatFailsIsLeftOut(t *testing.T) {
	m := metrics.New()
	m.Watch("broken", func(context.Context) (metrics.State, error) { return metrics.State{}, io.ErrUnexpectedEOF })
	m.WatchAttention("broken", func(context.Context) (map[string]int, error) { return nil, io.ErrUnexpectedEOF })
	m.WatchBreaker("panics", func() string { panic("no") })
	got := scrape(t, m)
	for _, line := range []string{`ken_source_up{source="store:broken"} 0`, `ken_source_up{source="attention:broken"} 0`, `ken_source_up{source="breaker:panics"} 0`} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, own(got))
		}
	}
}

func TestWatchAgainReplaces(t *testing.T) {
	m := metrics.New()
	for n := range 3 {
		m.Watch("o", func(context.Context) (metrics.State, error) { return metrics.State{Records: &n}, nil })
	}
	if got := scrape(t, m); strings.Count(got, "ken_records{") != 1 || !strings.Contains(got, `ken_records{owner="o"} 2`) {
		t.Error(own(got))
	}
}

func TestConcurrentUse(t *testing.T) {
	m := everything()
	const workers, each = 8, 200
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				m.Turn(receipt())
				m.Request("GET /v1/models", 200, time.Millisecond, time.Millisecond)
				m.Usage(fmt.Sprint(w, i), 1, 0, 0)
				m.Stream()()
				m.Watch(fmt.Sprint(i%3), func(context.Context) (metrics.State, error) { return metrics.State{}, nil })
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
			if w.Code != http.StatusOK {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	wg.Wait()
	if s := scrape(t, m); !strings.Contains(s, fmt.Sprintf(`ken_turns_total{cause="deadline",mode="late"} %d`, 1+workers*each)) ||
		strings.Count(s, `type="input"`) != metrics.MaxValues+1+1 { // one of them a key's
		t.Error(own(s))
	}
}

func ExampleMetrics() {
	m := metrics.New()
	m.Turn(&ken.Receipt{Mode: ken.ModeKeyword, Cause: "switched off: middleware.vector is false", MS: map[string]float64{"total": 1.5}})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "ken_turns_total") {
			fmt.Print(line)
		}
	}
	// Output: ken_turns_total{cause="switched_off",mode="keyword"} 1
}

func BenchmarkTurn(b *testing.B) {
	m, r := metrics.New(), receipt()
	for i := range 20 {
		r.Items = append(r.Items, ken.Item{Tier: ken.Tier(i % 4), Chars: 100})
	}
	for i := range 80 {
		r.Cut = append(r.Cut, ken.Cut{Reason: []ken.CutReason{ken.CutFloor, ken.CutPool, ken.CutBudget}[i%3]})
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Turn(r)
	}
}

func BenchmarkRequest(b *testing.B) {
	m := metrics.New()
	b.ReportAllocs()
	for b.Loop() {
		m.Request("POST /v1/chat/completions", 200, time.Second, time.Millisecond)
	}
}

func BenchmarkScrape(b *testing.B) {
	m := everything()
	for b.Loop() {
		scrape(b, m)
	}
}
