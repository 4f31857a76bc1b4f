package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

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
	if err := l.Derive(t.Context(), "", ids...); err != nil || !requires(t, s, "checkout", "vault") {
		t.Errorf("not derived: %v", err)
	}
}

func TestFilingCanBeSwitchedOff(t *testing.T) {
	server := modeltest.Serve(t)
	c := modelled(server)
	c.Structure.Classify = config.ClassifyOff
	l := open(t, c)
	ids := learn(t, l, fact(t, dependent))
	if err := l.Derive(t.Context(), "", ids...); err != nil {
		t.Fatal(err)
	}
	rep, err := l.File(t.Context(), "")
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
	if err != nil || rep.Done < 2 {
		t.Fatalf("%+v, %v", rep, err)
	}
	s := engine(t, l, "")
	c, err := s.Get(t.Context(), ids[0])
	if err != nil || c.AssignedBy != ken.AssignedByModel || !requires(t, s, "payments", "ledger") {
		t.Errorf("%+v, %v", c, err)
	}
	st, err := l.Filing(t.Context(), "")
	if err != nil || st.Rules == 0 || st.Model == 0 || st.Counts.Model != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// In the background the layer follows what is written, whoever writes it, and no turn
// waits for it.
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
	if _, err := l.File(t.Context(), "a"); err != nil {
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

// A queue that nobody works off, or whose model is down, costs no rule: what was said is
// one when it is written, and reaches what it depends on, in a process that starts now.
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
	rep, err := l.File(t.Context(), "")
	if err != nil || rep.Done > 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	waiting, err := l.Jobs("").List(t.Context())
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
