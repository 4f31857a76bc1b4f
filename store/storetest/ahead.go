package storetest

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// testAhead: what says that it is from the future counts as of when it is written, and
// grows old from then on. Clocks may differ by some minutes.
func testAhead(k *kit) {
	const days = 90
	future := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	isNow := func(k *kit, what string, t time.Time) {
		k.Helper()
		if t.Before(epoch) || t.After(k.clock.Now()) {
			k.Errorf("%s at %v, written after %v", what, t, epoch)
		}
	}
	hard := func(at time.Time) []ken.Evidence {
		out := []ken.Evidence{ken.FromTestResult("A", ""), ken.FromGitHistory("r", "c", "")}
		for i := range out {
			out[i].FetchedAt = at
		}
		return out
	}

	k.sub("written", func(k *kit) {
		id := k.write("payments uses sagas", func(c *ken.Claim) {
			c.CreatedAt, c.UpdatedAt, c.ReinforcedAt, c.Evidence = future, future, future, hard(future)
		})
		c := k.get(id)
		isNow(k, "created", c.CreatedAt)
		isNow(k, "updated", c.UpdatedAt)
		isNow(k, "reinforced", c.ReinforcedAt)
		isNow(k, "evidence", c.Evidence[0].FetchedAt)
		s := c.Support(nil)
		if got := s.At(k.clock.Now(), days); got != ken.Verified {
			k.Errorf("at once: %v", got)
		}
		if got := s.At(epoch.AddDate(0, 0, days+2), days); got != ken.Inferred {
			k.Errorf("after %d days: %v", days+2, got)
		}
	})

	k.sub("a clock that is a little ahead", func(k *kit) {
		soon := k.clock.Now().Add(3 * time.Minute)
		c := k.get(k.write("payments uses sagas", func(c *ken.Claim) { c.CreatedAt, c.Evidence = soon, hard(soon) }))
		if !c.CreatedAt.Equal(soon) || !c.Evidence[0].FetchedAt.Equal(soon) {
			k.Errorf("created %v, evidence %v, want %v", c.CreatedAt, c.Evidence[0].FetchedAt, soon)
		}
	})

	k.sub("brought later", func(k *kit) {
		id := k.write("payments uses sagas")
		err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified, Reason: "it was seen", Evidence: hard(future)[:1]})
		if err != nil {
			k.Fatal(err)
		}
		if r, ok := k.s.(reinforcer); ok {
			if err := r.Reinforce(k.ctx, id, hard(future)[1:], ken.Actor{}); err != nil {
				k.Fatal(err)
			}
		}
		for _, e := range k.get(id).Evidence {
			if !e.FetchedAt.IsZero() {
				isNow(k, "evidence", e.FetchedAt)
			}
		}
	})

	k.sub("with a life of its own", func(k *kit) {
		im, ok := k.s.(interface {
			Import(context.Context, []store.Incoming) []store.Outcome
		})
		if !ok {
			return
		}
		c := ken.Claim{Text: "payments uses sagas", CreatedAt: future, Evidence: hard(future), Key: "k"}
		prior := []ken.ClaimEvent{{At: future, Type: ken.EventReinforced, Evidence: hard(future)}}
		for _, o := range im.Import(k.ctx, []store.Incoming{{Claim: c, Prior: prior}}) {
			if o.Err != nil {
				k.Fatal(o.Err)
			}
			for _, e := range k.history(o.ID) {
				isNow(k, "history", e.At)
				for _, e := range e.Evidence {
					isNow(k, "evidence of the history", e.FetchedAt)
				}
			}
		}
		// The same file once more changes nothing.
		for _, o := range im.Import(k.ctx, []store.Incoming{{Claim: c, Prior: prior}}) {
			if o.Err != nil || o.Changed {
				k.Errorf("again: %+v", o)
			}
		}
	})
}
