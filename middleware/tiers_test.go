package middleware_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

const asks = "What do we know about the zanzibar payments gateway?"

// backed is a claim with the evidence given.
func backed(t testing.TB, text string, evidence ...ken.Evidence) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, evidence...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ladder writes a claim of each tier, and returns what each is called by. A
// file of the project changes after a claim relied on it.
func ladder(t testing.TB, l *middleware.Layer) map[string]ken.Tier {
	t.Helper()
	ctx := context.Background()
	file := filepath.Join(l.Root(), "gateway.md")
	content := []byte("# Gateway\n\nNothing here yet.\n")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Refresh(ctx, ""); err != nil {
		t.Fatal(err)
	}
	hashed := ken.FromFile("gateway.md", "", "")
	hashed.ContentHash = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	ids := learn(t, l,
		backed(t, "The zanzibar payments gateway retries thrice: alpha.", ken.FromTestResult("TestRetry", "ok"), ken.FromValidator("go vet ./...", "")),
		backed(t, "On the zanzibar payments gateway somebody has looked by hand: bravo.", ken.FromUserStatement("s", "m")),
		backed(t, "A zanzibar payments gateway needs its own certificate: charlie.", ken.FromArtifact("report", "report.pdf")),
		backed(t, "Somebody said that the zanzibar payments gateway is slow on Mondays: delta.", ken.FromMessage("s", "m", "slow")),
		backed(t, "According to a file the zanzibar payments gateway listens on port 9: echo.", hashed),
	)
	s, release, err := l.Store(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Transition(ctx, ken.Transition{ID: ids[1], To: ken.StatusVerified,
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", time.Time{}, "looked")}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("# Gateway\n\nSomething else.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Refresh(ctx, ""); err != nil {
		t.Fatal(err)
	}
	return map[string]ken.Tier{ids[0]: ken.Verified, ids[1]: ken.Verified, ids[2]: ken.Inferred, ids[3]: ken.Assumed, ids[4]: ken.Guessed}
}

func indexing(c *config.Config) { c.Repository.Index = true }

// tiers are the tiers of a receipt's claims, documents apart.
func tiers(r ken.Receipt) map[string]ken.Tier {
	out := map[string]ken.Tier{}
	for _, it := range r.Items {
		if it.Kind != ken.KindDocument {
			out[it.ID] = it.Tier
		}
	}
	return out
}

// Elsewhere provenance was not wired into the pipeline: every item was Guessed,
// and ranking by tier did nothing. Here each tier comes from evidence in the
// store through to the block, in the order of the tiers.
func TestEachTierReachesTheBlock(t *testing.T) {
	l := open(t, settings(indexing), withVectors)
	want := ladder(t, l)
	r := l.Assemble(context.Background(), asked(asks)).Receipt
	if d := cmp.Diff(want, tiers(r)); d != "" {
		t.Errorf("tiers (-want +got):\n%s\ncut %+v", d, r.Cut)
	}
	last := ken.Verified
	for _, it := range r.Items {
		if it.Tier > last {
			t.Errorf("%s after %s in\n%s", it.Tier, last, r.Block)
		}
		last = it.Tier
	}
	for _, tier := range []ken.Tier{ken.Verified, ken.Inferred, ken.Assumed, ken.Guessed} {
		if !containsItem(r.Block, tier) {
			t.Errorf("no %s in\n%s", tier, r.Block)
		}
	}
}

func containsItem(block string, tier ken.Tier) bool { return headers(block)[tier.String()] > 0 }

// headers counts a block's items by the tier in their header.
func headers(block string) map[string]int {
	out := map[string]int{}
	for line := range lines(block) {
		var id, tier string
		if n, _ := fmt.Sscanf(line, "[k:%s %s", &id, &tier); n == 2 {
			out[tier]++
		}
	}
	return out
}

// A Verified claim counts as Inferred once its evidence is older than
// knowledge.decay_days, by the layer's clock; 0 never decays.
func TestTierDecaysByTheClock(t *testing.T) {
	for days, want := range map[int]ken.Tier{30: ken.Inferred, 0: ken.Verified} {
		var now atomic.Int64 // the recorder of the layer reads the clock too
		now.Store(monday.UnixNano())
		l := open(t, settings(func(c *config.Config) { c.Knowledge.DecayDays = days }), func(o *middleware.Options) {
			o.Now = func() time.Time { return time.Unix(0, now.Load()).UTC() }
		})
		id := learn(t, l, backed(t, "The zanzibar payments gateway retries thrice.", ken.FromTestResult("A", ""), ken.FromValidator("B", "")))[0]
		for _, step := range []struct {
			after time.Duration
			want  ken.Tier
		}{{0, ken.Verified}, {30 * 24 * time.Hour, ken.Verified}, {30*24*time.Hour + time.Minute, want}} {
			now.Store(monday.Add(step.after).UnixNano())
			if got := tiers(l.Assemble(context.Background(), asked(asks)).Receipt)[id]; got != step.want {
				t.Errorf("decay_days %d, after %v: %s, want %s", days, step.after, got, step.want)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	l := open(t, settings(indexing), withVectors)
	all := ladder(t, l)
	strong := map[string]ken.Tier{}
	for id, tier := range all {
		if tier >= ken.Inferred {
			strong[id] = tier
		}
	}
	for weight, want := range map[ken.Weight]map[string]ken.Tier{
		ken.WeightNone: {}, ken.WeightLow: strong, ken.WeightDefault: all, ken.WeightHigh: all} {
		turn := asked(asks)
		turn.Weight = weight
		r := l.Assemble(context.Background(), turn).Receipt
		if d := cmp.Diff(want, tiers(r)); d != "" {
			t.Errorf("%s (-want +got):\n%s", weight, d)
		}
		if weight == ken.WeightNone && (r.Mode != ken.ModeNone || r.Cause != "the agent's weight is none" || r.Block != "") {
			t.Errorf("none: %+v", r)
		}
		if weight == ken.WeightLow {
			byTier := 0
			for _, c := range r.Cut {
				if c.Reason == ken.CutTier && all[c.ID] < ken.Inferred {
					byTier++
				}
			}
			if byTier != 2 {
				t.Errorf("low: %d cut by tier, want 2: %+v", byTier, r.Cut)
			}
		}
	}
}

// retrieval.weight applies only to agents without a weight.
func TestConfiguredWeight(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Retrieval.Weight = ken.WeightLow }))
	learn(t, l, fact(t, "%s", retryFact))
	turn := asked(question)
	if r := l.Assemble(context.Background(), turn).Receipt; len(r.Items) != 0 {
		t.Errorf("unsaid: %+v", r.Items)
	}
	turn.Weight = ken.WeightHigh
	if r := l.Assemble(context.Background(), turn).Receipt; len(r.Items) != 1 {
		t.Errorf("high: cut %+v", r.Cut)
	}
}

// Two agents in one conversation, of different weights: what one may see does
// not come up in the other's block.
func TestWeightsDoNotShareBlocks(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	turn := asked(question)
	turn.Session = "shared"
	if r := l.Assemble(context.Background(), turn).Receipt; len(r.Items) != 1 {
		t.Fatalf("default: cut %+v", r.Cut)
	}
	turn.Weight = ken.WeightLow
	if r := l.Assemble(context.Background(), turn).Receipt; len(r.Items) != 0 {
		t.Errorf("low got the block of default: %+v", r.Items)
	}
}

func TestMinTrust(t *testing.T) {
	claims := map[ken.Trust]ken.Evidence{ken.TrustOperator: ken.FromUserStatement("s", "m"), ken.TrustAgent: ken.FromArtifact("a", ""),
		ken.TrustExternal: ken.FromToolResult("call", "said so")}
	for _, min := range []ken.Trust{ken.TrustExternal, ken.TrustAgent, ken.TrustOperator} {
		l := open(t, settings(func(c *config.Config) { c.Retrieval.MinTrust = min }), withVectors)
		of := map[string]ken.Trust{}
		for trust, evidence := range claims {
			of[learn(t, l, backed(t, "The zanzibar payments gateway, says "+trust.String()+", retries.", evidence))[0]] = trust
		}
		r := l.Assemble(context.Background(), asked(asks)).Receipt
		shown := map[string]bool{}
		for _, it := range r.Items {
			shown[it.ID] = true
			if it.Trust != of[it.ID] || !it.Trust.AtLeast(min) {
				t.Errorf("min %s: %s item %q", min, it.Trust, it.Text)
			}
		}
		for id, trust := range of {
			if trust.AtLeast(min) && !shown[id] {
				t.Errorf("min %s: the claim of %s is missing; cut %+v", min, trust, r.Cut)
			}
		}
		for _, c := range r.Cut {
			if c.Reason != ken.CutTrust {
				t.Errorf("min %s: cut %+v of %s", min, c, of[c.ID])
			}
		}
	}
}
