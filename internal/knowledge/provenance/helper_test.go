package provenance_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store/memory"
)

var epoch = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

type claims interface {
	ken.Store
	provenance.Reader
	provenance.Store
}

// kit is a store with a clock that the test sets, and a project's folder.
type kit struct {
	*testing.T
	claims
	clock atomic.Int64 // Unix nanoseconds; the store reads it in the background
	root  string
}

func (k *kit) now() time.Time   { return time.Unix(0, k.clock.Load()).UTC() }
func (k *kit) set(at time.Time) { k.clock.Store(at.UnixNano()) }

// each runs a test on every store.
func each(t *testing.T, run func(k *kit)) {
	for name, open := range map[string]func(t *testing.T, now func() time.Time) claims{
		"memory": func(_ *testing.T, now func() time.Time) claims { return memory.New(memory.Options{Now: now}) },
		"bolt": func(t *testing.T, now func() time.Time) claims {
			s, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{Now: now, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kit{T: t, root: t.TempDir()}
			k.set(epoch)
			k.claims = open(t, k.now)
			run(k)
		})
	}
}

func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	c := ken.Claim{Text: text, Kind: ken.KindFact, Confidence: 0.9, Importance: 0.5, CreatedAt: k.now(), Evidence: []ken.Evidence{ken.FromArtifact("test", "")}}
	for _, f := range change {
		f(&c)
	}
	id, err := k.WriteClaim(k.Context(), c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func about(names ...string) func(*ken.Claim)        { return func(c *ken.Claim) { c.Entities = names } }
func rests(on ...ken.Evidence) func(*ken.Claim)     { return func(c *ken.Claim) { c.Evidence = on } }
func expires(at time.Time) func(*ken.Claim)         { return func(c *ken.Claim) { c.ExpiresAt = at } }
func hashed(path, hash string) ken.Evidence         { return with(ken.FromFile(path, "", ""), hash) }
func with(e ken.Evidence, hash string) ken.Evidence { e.ContentHash = hash; return e }

func (k *kit) of(q provenance.Query) provenance.View {
	k.Helper()
	v, err := provenance.Of(k.Context(), k, q, k.options())
	if err != nil {
		k.Fatal(err)
	}
	return v
}

func (k *kit) options() provenance.Options {
	return provenance.Options{Now: k.now, DecayDays: 90, Root: k.root}
}

func (k *kit) file(name, text string) {
	k.Helper()
	p := filepath.Join(k.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) record(c provenance.Check) provenance.Recorded {
	k.Helper()
	r, err := provenance.Record(k.Context(), k, c, k.now())
	if err != nil {
		k.Fatal(err)
	}
	return r
}

func (k *kit) claimOf(id string) ken.Claim {
	k.Helper()
	c, err := k.Get(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	return c
}

func ids(v provenance.View) []string {
	out := []string{}
	for _, c := range v.Claims {
		out = append(out, c.ID)
	}
	return out
}

// standing counts the claims about a target that a recall may return.
func (k *kit) standing(target string) (n int) {
	k.Helper()
	refs, err := k.Referring(k.Context(), []string{target}, &ken.Filter{Now: k.now()})
	if err != nil {
		k.Fatal(err)
	}
	return len(refs)
}

// broken is a store that stops before it supersedes.
type broken struct{ provenance.Store }

func (broken) SupersedeFor(context.Context, string, string, string, ken.Actor) error {
	return context.DeadlineExceeded
}
