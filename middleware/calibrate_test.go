package middleware_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// noise is an embedder whose vectors say nothing of their texts.
type noise struct{ name string }

func (noise) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float32, 32)
		for k := range out[i] {
			out[i][k] = float32(rng.NormFloat64())
		}
		if err := embed.Unit(out[i]); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

func (n noise) Model() string { return "test:" + n.name }
func (noise) Dim() int        { return 32 }
func (noise) Local() bool     { return true }

// notes are n facts, each about things of its own.
func notes(t testing.TB, n int) []ken.Claim {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	things := strings.Fields(`invoice ledger payment refund voucher customer basket parcel warehouse shipment carrier driver depot sensor valve
		turbine boiler pump engine garden orchard greenhouse kitchen recipe oven bakery window curtain carpet library novel archive letter
		stamp violin concert orchestra bicycle helmet tunnel bridge ferry harbour telescope planet comet rocket antenna radio battery`)
	verbs := strings.Fields("checks copies replaces removes stores sends creates updates rejects measures opens closes repairs")
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	var out []ken.Claim
	for i := range n {
		out = append(out, fact(t, "The %s %s the %s of the %s. When the %s is empty, the %s %s the %s before the %s.", pick(things), pick(verbs),
			pick(things), pick(things), pick(things), pick(things), pick(verbs), pick(things), pick(things)))
		out[i].ID = fmt.Sprintf("01900000-0000-7000-8000-%012d", i) // which words a question keeps follows from it
	}
	return out
}

func with(e embed.Embedder) func(*middleware.Options) {
	return func(o *middleware.Options) { o.Embedder = e }
}

func in(root string) func(*middleware.Options) {
	return func(o *middleware.Options) { o.Root = root }
}

const search = "When is the turbine empty before the ferry?"

// An embedder that is like nothing is left out of the turns, and the receipt says
// so; a later process knows it at its first turn.
func TestCalibrationLeavesABadEmbedderOut(t *testing.T) {
	root := t.TempDir()
	l := open(t, settings(), in(root), with(noise{"bad"}))
	learn(t, l, notes(t, 200)...)
	if r := l.Assemble(t.Context(), asked(search)).Receipt; r.Mode != ken.ModeHybrid || r.Likeness != 0 {
		t.Errorf("before: mode %s, likeness %v", r.Mode, r.Likeness)
	}
	c, err := l.Calibrate(t.Context(), "")
	if err != nil || !c.Harms() {
		t.Fatalf("%+v, %v", c, err)
	}
	check := func(what string, l *middleware.Layer) {
		t.Helper()
		r := l.Assemble(t.Context(), asked(search)).Receipt
		if r.Mode != ken.ModeKeyword || !strings.HasPrefix(r.Cause, "calibrated: ") || r.Likeness != 0 || len(r.Degraded) > 0 || len(r.Items) == 0 {
			t.Errorf("%s: mode %s, cause %q, likeness %v, degraded %v, %d items", what, r.Mode, r.Cause, r.Likeness, r.Degraded, len(r.Items))
		}
		if _, why := l.Retrieval(); why != r.Cause {
			t.Errorf("%s: Retrieval says %q", what, why)
		}
	}
	check("after", l)
	if again, err := l.Calibrate(t.Context(), ""); again != c || err != nil {
		t.Errorf("measured again although nothing changed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check("another process", open(t, settings(), in(root), with(noise{"bad"})))

	other := open(t, settings(), in(t.TempDir()), with(noise{"bad"}))
	if c := other.Calibration(""); c != nil {
		t.Errorf("another project: %+v", c)
	}
}

// What was measured with another model, and what can't be read, does not count;
// the next measurement takes its place.
func TestCalibrationOfAnotherModelDoesNotCount(t *testing.T) {
	race.LeaveToWhole(t)
	root := t.TempDir()
	l := open(t, settings(), in(root), with(noise{"bad"}))
	learn(t, l, notes(t, 150)...)
	if c, err := l.Calibrate(t.Context(), ""); err != nil || !c.Harms() {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, ".ken/state", bolt.FolderName(ken.DefaultOwner), calibrate.File)
	l = open(t, settings(), in(root))
	if c := l.Calibration(""); c != nil {
		t.Errorf("%+v", c)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("half of"), 0o600); err != nil {
		t.Fatal(err)
	}
	l = open(t, settings(), in(root))
	if _, err := l.Refresh(t.Context(), ""); err != nil { // the built-in embedder's vectors
		t.Fatal(err)
	}
	if c := l.Calibration(""); c != nil {
		t.Errorf("read from a broken file: %+v", c)
	}
	c, err := l.Calibrate(t.Context(), "")
	if err != nil || c.Factor != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if r := l.Assemble(t.Context(), asked(search)).Receipt; r.Mode != ken.ModeHybrid || r.Likeness != 1 {
		t.Errorf("mode %s, likeness %v", r.Mode, r.Likeness)
	}
	if kept, err := calibrate.Read(filepath.Dir(file)); err != nil || kept.Model != l.Embedder().Model() {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestCalibrationSwitches(t *testing.T) {
	race.LeaveToWhole(t)
	for name, tt := range map[string]struct {
		c       *config.Config
		n       int
		measure bool
		mode    ken.Mode
	}{
		"default":              {settings(), 150, true, ken.ModeKeyword},
		"switched off":         {settings(func(c *config.Config) { c.Retrieval.Calibrate = false }), 150, false, ken.ModeHybrid},
		"no vector leg":        {settings(func(c *config.Config) { c.Middleware.Vector = false }), 150, false, ken.ModeKeyword},
		"too few records":      {settings(), 99, false, ken.ModeHybrid},
		"likeness alone":       {settings(func(c *config.Config) { c.Middleware.Keyword, c.Middleware.Floor = false, false }), 150, true, ken.ModeVector},
		"the fused rank alone": {settings(func(c *config.Config) { c.Retrieval.Rank = config.RankRRF }), 150, true, ken.ModeHybrid},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, tt.c, with(noise{"bad"}))
			learn(t, l, notes(t, tt.n)...)
			c, err := l.Calibrate(t.Context(), "")
			if err != nil || (c != nil) != tt.measure {
				t.Fatalf("%+v, %v", c, err)
			}
			if r := l.Assemble(t.Context(), asked(search)).Receipt; r.Mode != tt.mode {
				t.Errorf("mode %s, cause %q", r.Mode, r.Cause)
			}
		})
	}
}

// A layer that stays measures by itself once a turn finds that it is due, for
// whichever owner; the turn does not wait.
func TestTurnsAskForCalibration(t *testing.T) {
	done := make(chan struct{})
	var once sync.Once
	l := open(t, settings(), with(noise{"bad"}), func(o *middleware.Options) {
		o.Foreground = false
		o.Progress = func(stage string, n, total int) {
			if stage == "calibrate" && n == total {
				once.Do(func() { close(done) })
			}
		}
	})
	s, release, err := l.Store(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	claims := notes(t, 150)
	in := make([]store.Incoming, len(claims))
	for i := range claims {
		in[i].Claim = claims[i]
	}
	for i, o := range s.Import(t.Context(), in) {
		if o.Err != nil {
			t.Fatalf("%d: %v", i, o.Err)
		}
	}
	release()
	turn := asked(search)
	turn.Owner = "bob"
	l.Assemble(t.Context(), turn)
	<-done
	if c, err := l.Calibrate(t.Context(), "bob"); err != nil || !c.Harms() { // waits for the one under way
		t.Errorf("%+v, %v", c, err)
	}
	if r := l.Assemble(t.Context(), turn).Receipt; r.Mode != ken.ModeKeyword {
		t.Errorf("mode %s", r.Mode)
	}
	if c := l.Calibration(""); c != nil {
		t.Errorf("another owner's: %+v", c)
	}
}

// A measurement that fails leaves what was in force, and the store as it is.
func TestCalibrateStops(t *testing.T) {
	l := open(t, settings(), with(noise{"bad"}))
	learn(t, l, notes(t, 150)...)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if c, err := l.Calibrate(ctx, ""); err == nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := l.Calibrate(t.Context(), ""); err != nil || c == nil {
		t.Errorf("the next one: %+v, %v", c, err)
	}
}

// The adapted table is used where there is one, and the built-in one where it
// can't be read.
func TestAdaptedEmbedder(t *testing.T) {
	base, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	adapted, err := table.New([]string{"a", "b", "c"}, []float32{1, 0, 0, 1, 1, 1}, 2, table.Info{Base: base.Model()})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	state := filepath.Join(root, ".ken/state")
	if err := trust.Mark(root, state); err != nil {
		t.Fatal(err)
	}
	if err := adapt.Save(state, adapted, adapt.Report{Base: base.Model(), Model: adapted.Model()}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		damage func() error
		model  string
		told   bool
	}{
		{"whole", func() error { return nil }, adapted.Model(), false},
		{"unreadable", func() error {
			return os.WriteFile(filepath.Join(state, adapt.TableFile), make([]byte, adapted.Size()), 0o600)
		}, base.Model(), true},
		{"of another base", func() error {
			return adapt.Save(state, adapted, adapt.Report{Base: "ken:other", Model: adapted.Model()})
		}, base.Model(), false},
	} {
		if err := tt.damage(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		l := open(t, settings(), in(root), func(o *middleware.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		if got := l.Embedder().Model(); got != tt.model {
			t.Errorf("%s: model %s, want %s", tt.name, got, tt.model)
		}
		if told := strings.Contains(log.String(), "the built-in embedder is used"); told != tt.told {
			t.Errorf("%s: log %s", tt.name, log.String())
		}
		if err := l.Close(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
