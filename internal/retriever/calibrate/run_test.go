package calibrate_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/openai"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
)

func calibrated(t *testing.T, e embed.Embedder, claims []ken.Claim, o calibrate.Options) *calibrate.Calibration {
	t.Helper()
	o.Now, o.Filter.Now = func() time.Time { return now }, now
	c, err := calibrate.Run(t.Context(), stored(t, e, claims), e, retriever.Options{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func builtIn(t *testing.T) embed.Embedder {
	t.Helper()
	e, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Rivals mix in any embedder with one weight; a poor one then hides what the
// words had found.
func TestRunTellsGoodEmbeddersFromBad(t *testing.T) {
	race.SkipLong(t)
	claims := notes(400)
	good, bad := calibrated(t, builtIn(t), claims, calibrate.Options{Seed: 1}), calibrated(t, noise{}, claims, calibrate.Options{Seed: 1})
	if good.Factor != 1 || good.Harms() || good.Questions < 150 || good.Records != 400 || good.Vector.MRR < 0.5*good.Keyword.MRR {
		t.Errorf("built-in: %+v", good)
	}
	if bad.Factor != 0 || !bad.Harms() || bad.Vector.MRR > 0.1 || bad.Hybrid != bad.Keyword || bad.Gain.Low > 0 {
		t.Errorf("noise: %+v", bad)
	}
	if most := bad.Tried[len(bad.Tried)-1]; most.MRR >= bad.Keyword.MRR {
		t.Errorf("noise at factor %v finds %v, words %v", most.Factor, most.MRR, bad.Keyword.MRR)
	}
	if bad.Keyword != good.Keyword {
		t.Errorf("words find %+v beside one embedder and %+v beside another", good.Keyword, bad.Keyword)
	}
	if len(good.Tried) != 6 || good.Tried[3].Figures != good.Hybrid || good.Tried[0].Figures != good.Keyword {
		t.Errorf("tried %+v", good.Tried)
	}
}

// A few questions prove nothing.
func TestRunOfFewRecordsStaysNeutral(t *testing.T) {
	for _, n := range []int{0, 20} {
		c := calibrated(t, noise{}, notes(n), calibrate.Options{})
		if c.Factor != 1 || c.Usual != 0 || c.Questions > 30 || c.Records != n {
			t.Errorf("%d records: %+v", n, c)
		}
	}
}

func TestRunIsDeterministic(t *testing.T) {
	race.SkipLong(t)
	claims := notes(200)
	a, b := calibrated(t, builtIn(t), claims, calibrate.Options{Seed: 3, N: 60}), calibrated(t, builtIn(t), claims, calibrate.Options{Seed: 3, N: 60})
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	other := calibrated(t, builtIn(t), claims, calibrate.Options{Seed: 4, N: 60})
	if cmp.Equal(a.Tried, other.Tried) {
		t.Error("another seed gives the same figures")
	}
}

// scaled has the built-in embedder's order of texts, but cosines of another size.
type scaled struct{ embed.Embedder }

func (scaled) Model() string { return "test:scaled" }
func (scaled) Local() bool   { return true }

func (s scaled) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vecs, err := s.Embedder.Embed(ctx, texts)
	for i, v := range vecs {
		if v == nil {
			continue
		}
		v = append([]float32{}, v...)
		h := fnv.New64a()
		_, _ = h.Write([]byte(texts[i]))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		for k := range v { // a common part lowers all similarities
			v[k] += float32(1.5 * rng.NormFloat64() / math.Sqrt(float64(len(v))))
		}
		if err := embed.Unit(v); err != nil {
			return nil, err
		}
		vecs[i] = v
	}
	return vecs, err
}

func TestRunMeasuresTheUsualCosine(t *testing.T) {
	race.SkipLong(t)
	claims := notes(300)
	if c := calibrated(t, builtIn(t), claims, calibrate.Options{}); c.Usual != 0 {
		t.Errorf("the built-in embedder's usual cosine is %v, want the default", c.Usual)
	}
	if c := calibrated(t, scaled{builtIn(t)}, claims, calibrate.Options{}); c.Usual <= 0 || c.Usual >= 0.45 {
		t.Errorf("the usual cosine of less alike vectors is %v", c.Usual)
	}
}

// A gateway is asked for all questions at once, not for each.
func TestRunAsksAGatewayOnce(t *testing.T) {
	var requests atomic.Int64
	gateway := embedtest.Gateway()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		gateway.ServeHTTP(w, r)
	}))
	defer srv.Close()
	e, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: embedtest.GatewayModel})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := stored(t, e, notes(150))
	requests.Store(0)
	c, err := calibrate.Run(t.Context(), s, e, retriever.Options{}, calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := requests.Load(); n > 4 || c.Questions < 50 || c.Model != e.Model() || c.Vector.MRR == 0 {
		t.Errorf("%d requests for %d questions; %+v", n, c.Questions, c)
	}
	srv.Close()
	if c, err := calibrate.Run(t.Context(), s, e, retriever.Options{}, calibrate.Options{}); err == nil || c != nil {
		t.Errorf("without the gateway: %+v, %v", c, err)
	}
}

func TestRunStopsAndTellsHowFarItIs(t *testing.T) {
	s := stored(t, noise{}, notes(150))
	ctx, stop := context.WithCancel(t.Context())
	last := 0
	c, err := calibrate.Run(ctx, s, noise{}, retriever.Options{}, calibrate.Options{Progress: func(done, total int) {
		if last = done; total < 50 {
			t.Errorf("total %d", total)
		}
		if done == 10 {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) || c != nil || last != 10 {
		t.Errorf("%v, %v, stopped at %d", c, err, last)
	}
	if _, err := calibrate.Run(ctx, s, noise{}, retriever.Options{}, calibrate.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// No vector is requested for records that turns don't see.
func TestRunKeepsToTheFilter(t *testing.T) {
	claims := notes(60)
	for i := range claims {
		claims[i].Scope = ken.Scope{Type: "repo", ID: "other"}
	}
	c := calibrated(t, noise{}, claims, calibrate.Options{Filter: ken.Filter{Scopes: []ken.Scope{{Type: "repo", ID: "mine"}}, Unscoped: true}})
	if c.Questions != 0 || c.Factor != 1 {
		t.Errorf("%+v", c)
	}
}
