package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// A claim that is written while the layer runs gets its vector from a gateway
// in the background; the write did not wait for it.
func TestNewClaimsAreEmbeddedInTheBackground(t *testing.T) {
	var slow atomic.Bool
	wait := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			<-wait
		}
		vectors(8, nil)(w, r)
	}))
	t.Cleanup(srv.Close)
	done := make(chan int, 16)
	l := open(t, settings(func(c *config.Config) { c.Knowledge.EmbedModel, c.Knowledge.EmbedBaseURL = "m", srv.URL }),
		func(o *middleware.Options) {
			o.Foreground = false
			o.Progress = func(stage string, n, _ int) {
				if stage == "embed" {
					done <- n
				}
			}
		})
	slow.Store(true)
	learn(t, l, fact(t, retryFact)) // returns although no vector can be had yet
	close(wait)
	<-done
	r := l.Assemble(context.Background(), asked(question)).Receipt
	if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
		t.Errorf("mode %q, cause %q, degraded %v", r.Mode, r.Cause, r.Degraded)
	}
}

// modelled is a configuration with an auxiliary model.
func modelled(server *modeltest.Server) *config.Config {
	return settings(func(c *config.Config) {
		c.Knowledge.Embeddings = false
		c.Harvest.Model, c.Harvest.BaseURL = modeltest.Model, server.URL
	})
}

func engine(t *testing.T, l *middleware.Layer, owner string) store.Engine {
	t.Helper()
	s, release, err := l.Store(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return s
}

func requires(t *testing.T, s store.Engine, source, target string) bool {
	t.Helper()
	_, err := s.ByKey(t.Context(), structure.DependencyKey(source, "requires", target, ken.Scope{}))
	return err == nil
}

const dependent = "The payments service depends on the ledger."

// Whoever ends right after a write has the dependencies that it states.
func TestLearningInTheForegroundDerivesAtOnce(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Embeddings = false }))
	if _, err := l.Session(ken.Turn{Session: "s"}).Learn(t.Context(), dependent, []ken.Evidence{ken.FromUserStatement("s", "m")}); err != nil {
		t.Fatal(err)
	}
	s := engine(t, l, "")
	if !requires(t, s, "payments", "ledger") {
		t.Error("what was learned states a dependency that is not known")
	}
	ids := learn(t, l, fact(t, "The checkout service requires the vault."))
	if err := l.Operator().Derive(t.Context(), "", ids...); err != nil || !requires(t, s, "checkout", "vault") {
		t.Errorf("not derived: %v", err)
	}
}

func TestFilingCanBeSwitchedOff(t *testing.T) {
	server := modeltest.Serve(t)
	c := modelled(server)
	c.Structure.Classify = config.ClassifyOff
	l := open(t, c)
	ids := learn(t, l, fact(t, dependent))
	if err := l.Operator().Derive(t.Context(), "", ids...); err != nil {
		t.Fatal(err)
	}
	rep, err := l.Operator().File(t.Context(), "")
	if err != nil || len(rep.Jobs) > 0 || requires(t, engine(t, l, ""), "payments", "ledger") || len(server.Requests()) > 0 {
		t.Errorf("%+v, %v, %d requests", rep, err, len(server.Requests()))
	}
}

// A harvest in the foreground, as ken harvest is one, asks the model, too; and what an
// earlier process left is filed then.
func TestHarvestInTheForegroundFiles(t *testing.T) {
	server := modeltest.Serve(t)
	l := open(t, modelled(server))
	ids := learn(t, l, fact(t, dependent))
	rep, err := l.Harvest(t.Context(), "")
	if err != nil || rep.Done < 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	s := engine(t, l, "")
	c, err := s.Get(t.Context(), ids[0])
	if err != nil || c.AssignedBy != ken.AssignedByModel || !requires(t, s, "payments", "ledger") {
		t.Errorf("%+v, %v", c, err)
	}
	st, err := l.Operator().Filing(t.Context(), "")
	if err != nil || st.Rules == 0 || st.Model == 0 || st.Counts.Model != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// The layer files new claims in the background, whoever writes them, and no turn
// waits for that.
func TestBackgroundFilesWhatIsWritten(t *testing.T) {
	server := modeltest.Serve(t)
	l := open(t, modelled(server), func(o *middleware.Options) { o.Foreground = false })
	s := engine(t, l, "")
	ids := learn(t, l, fact(t, dependent))
	for seq := s.Seq(); ; seq = s.Seq() {
		c, err := s.Get(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.AssignedBy == ken.AssignedByModel && requires(t, s, "payments", "ledger") {
			break
		}
		if err := s.Wait(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
}

// Owners are filed apart: nothing of one is shown beside, or written to, the other.
func TestOwnersAreFiledApart(t *testing.T) {
	server := modeltest.Serve(t)
	l := open(t, modelled(server))
	for _, owner := range []string{"a", "b"} {
		h := l.Session(ken.Turn{Owner: owner, Session: "s"})
		if _, err := h.Learn(t.Context(), dependent+" It is "+owner+"'s.", []ken.Evidence{ken.FromUserStatement("s", "m")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Operator().File(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"a", "b"} {
		for c, err := range engine(t, l, owner).Claims(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if classify.Atomic(&c) && (c.AssignedBy == ken.AssignedByModel) != (owner == "a") {
				t.Errorf("%s: %q is filed by %q", owner, c.Text, c.AssignedBy)
			}
		}
	}
}

// Rules need no queue and no model: a statement is a rule as soon as it is written, and
// applies over dependencies, even in a process that has just started.
func TestRulesNeedNoJob(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(down.Close)
	c := settings(func(c *config.Config) {
		c.Knowledge.Embeddings = false
		c.Harvest.Model, c.Harvest.BaseURL = modeltest.Model, down.URL
	})
	root := t.TempDir()
	at := func(o *middleware.Options) { o.Root = root }
	l := open(t, c, at)
	h := l.Session(ken.Turn{Session: "s"})
	learned, err := h.Learn(t.Context(), "Never deploy the payments service on Fridays.", []ken.Evidence{ken.FromHumanAssertion("ada", time.Time{}, "")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Learn(t.Context(), "The checkout depends on payments.", []ken.Evidence{ken.FromUserStatement("s", "m2")}); err != nil {
		t.Fatal(err)
	}
	rep, err := l.Operator().File(t.Context(), "")
	if err != nil || rep.Done > 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	waiting, err := l.Operator().Jobs("").List(t.Context())
	if err != nil || len(waiting) == 0 {
		t.Fatalf("no job waits: %v", err)
	}
	for _, started := range []*middleware.Layer{l, open(t, c, at)} {
		r := started.Assemble(t.Context(), asked("Restart the checkout now.")).Receipt
		if it := inBlock(&r, learned); it == nil || !it.Constraint {
			t.Errorf("the rule is missing:\n%s", r.Block)
		}
	}
}

// A model that never answers holds up no turn and no end.
func TestModelThatHangsHoldsUpNothing(t *testing.T) {
	came := make(chan struct{}, 8)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only then that the client has gone
		came <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	c := settings(func(c *config.Config) {
		c.Knowledge.Embeddings = false
		c.Harvest.Model, c.Harvest.BaseURL = modeltest.Model, hangs.URL
	})
	l := open(t, c, func(o *middleware.Options) { o.Foreground = false })
	learn(t, l, fact(t, dependent))
	<-came
	if a := l.Assemble(t.Context(), asked("What does the payments service depend on?")); len(a.Insertions) == 0 {
		t.Errorf("%+v", a.Receipt)
	}
}

// Turns without a pause slow the background down and do not stop it: its sessions are
// harvested all the same.
func TestHarvestsGoOnBesideTurns(t *testing.T) {
	dir := t.TempDir()
	begin := func(foreground, harvests bool) *middleware.Layer {
		return open(t, settings(func(c *config.Config) { c.Middleware.Harvest = harvests }), func(o *middleware.Options) { o.Root, o.Foreground = dir, foreground })
	}
	fill := begin(true, false)
	for i := range 3 {
		id := fmt.Sprint("ended-", i)
		_, err := fill.Operator().Journal("").Append(t.Context(), session.About{ID: id}, []ken.Message{{Role: "user", Text: fmt.Sprintf("We decided to move the ledger service to port %d.", 2000+i)}})
		if err == nil {
			_, err = fill.Operator().Journal("").End(t.Context(), id, session.Closed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	l := begin(false, true)
	turns := 0
	for {
		for range 20 {
			turns++
			l.Assemble(t.Context(), asked("Which port does the ledger service listen on?"))
		}
		done, err := l.Operator().Jobs("").List(t.Context(), jobs.Done)
		if err != nil {
			t.Fatal(err)
		}
		if len(done) == 3 {
			break
		}
	}
	t.Logf("%d turns meanwhile", turns)
}

// Two layers over one folder, such as a gateway and an MCP server, have separate
// sessions and share one. No message and no receipt is lost or stored twice, and
// neither layer ends a session that the other uses.
func TestTwoLayersKeepSessionsInOneFolder(t *testing.T) {
	root := t.TempDir()
	layers := map[string]*middleware.Layer{"one": openWithin(t, root), "two": openWithin(t, root)}
	const turns = 8
	var wg sync.WaitGroup
	for name, l := range layers {
		wg.Go(func() {
			own, both := ken.Turn{Session: "of " + name}, ken.Turn{Session: "of both"}
			for i := range turns {
				for _, turn := range []*ken.Turn{&own, &both} {
					turn.Messages = append(slices.Clone(turn.Messages), ken.Message{Role: "user", Text: fmt.Sprintf("question %d", i)})
					l.Assemble(context.Background(), *turn)
					answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("answer %d", i)}
					l.Answered(*turn, answer)
					turn.Messages = append(slices.Clone(turn.Messages), answer)
				}
			}
			if err := l.Operator().Recorded(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var want []string
	for i := range turns {
		want = append(want, fmt.Sprintf("user: question %d", i), fmt.Sprintf("assistant: answer %d", i))
	}
	for name, l := range layers {
		if _, err := l.Harvest(t.Context(), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, id := range []string{"of one", "of two", "of both"} {
			got := journaledTexts(t, l, "", id)
			if id == "of both" { // an answer may come between another's question and answer
				slices.Sort(got)
				want := slices.Sorted(slices.Values(want))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s sees %s (-want +got):\n%s", name, id, diff)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s sees %s (-want +got):\n%s", name, id, diff)
			}
			info, err := l.Operator().Journal("").Info(t.Context(), id)
			if err != nil || info.State != session.Open {
				t.Errorf("%s: %s is %s, %v", name, id, info.State, err)
			}
		}
		if n := len(keptTurns(t, l, "")); n != 4*turns {
			t.Errorf("%s sees %d receipts, want %d", name, n, 4*turns)
		}
	}

	// The one that ends leaves the shared session to the other.
	if err := layers["one"].Close(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]session.State{"of one": session.Harvested, "of two": session.Open, "of both": session.Open} {
		info, err := layers["two"].Operator().Journal("").Info(t.Context(), id)
		if err != nil || info.State != want {
			t.Errorf("%s is %s, want %s, %v", id, info.State, want, err)
		}
	}
}

// Both harvest what waits, and what was said is learned once.
func TestTwoLayersHarvestOneQueue(t *testing.T) {
	root := t.TempDir()
	one, two := openWithin(t, root), openWithin(t, root)
	const sessions = 6
	for i := range sessions {
		l := []*middleware.Layer{one, two}[i%2]
		turn := ken.Turn{Session: fmt.Sprint("s", i), Messages: []ken.Message{{Role: "user", Text: fmt.Sprintf("Remember that deploys of service-%d happen on Tuesdays after 14:00.", i)}}}
		l.Assemble(t.Context(), turn)
		l.Answered(turn, ken.Message{Role: "assistant", Text: "Noted."})
		if err := l.End(t.Context(), "", turn.Session); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, l := range []*middleware.Layer{one, two} {
		wg.Go(func() {
			rep, err := l.Harvest(context.Background(), "")
			if err != nil || rep.Retried+rep.Dead+rep.Lost > 0 {
				t.Errorf("%+v, %v", rep, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done += rep.Done
		})
	}
	wg.Wait()
	if done != sessions {
		t.Errorf("%d harvests of %d sessions", done, sessions)
	}
	s, release, err := two.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	facts := map[string]int{}
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == ken.KindFact && strings.Contains(c.Text, "Tuesdays") {
			facts[c.Text]++
		}
	}
	if len(facts) != sessions {
		t.Errorf("learned: %v", facts)
	}
	for text, n := range facts {
		if n != 1 {
			t.Errorf("%q was learned %d times", text, n)
		}
	}
}
