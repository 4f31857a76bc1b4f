//go:build unix

package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/internal/synth"
)

// TestALargeOwner moves an owner from a folder to an engine, to another engine and back to a folder.
// The owner's file is larger than 40 MB, which is more than a move keeps in memory. In each engine,
// another node takes the owner over. No claim may be lost, also none that is written between moves.
func TestALargeOwner(t *testing.T) {
	race.SkipLong(t)
	const least, claims = 40 << 20, 5000
	dir := t.TempDir()
	fill := shared.NewOwners(dir, 0, shared.Options{Store: bolt.Options{NoSync: true}})
	importClaims(t, fill, "ada", claims, 5000)
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ada", "ken.db")); err != nil || info.Size() < least {
		t.Fatalf("the file is too small: %v, %v", info.Size(), err)
	}
	places := []shared.Place{{Name: dir, Dir: dir}, {Name: logtest.StartNATS(t, 3).URL()}, {Name: logtest.StartPostgres(t).URL()}}
	back := t.TempDir()
	places = append(places, shared.Place{Name: back, Dir: back})
	started := 0
	open := func(p shared.Place) (*shared.Owners, func()) {
		if p.Dir != "" {
			w := shared.NewOwners(p.Dir, 0, shared.Options{})
			return w, func() { must(t, w.Close()) }
		}
		log, err := openLog(t.Context(), p.Name)
		must(t, err)
		started++
		n, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: fmt.Sprint("n", started)})
		must(t, err)
		w := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: n})
		return w, func() { must(t, w.Close()); must(t, n.Close()) }
	}
	want := claims
	for i, p := range places {
		for range 2 { // in an engine, the second node takes over from the log and its snapshot
			w, end := open(p)
			s, release, err := w.Get(t.Context(), "ada")
			must(t, err)
			if s.Len() != want {
				t.Fatalf("%s has %d records, not %d", p.Name, s.Len(), want)
			}
			text := fmt.Sprintf("the value of setting%d is %d", want, i)
			c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
			must(t, err)
			_, err = s.WriteClaim(t.Context(), c)
			must(t, err)
			want++
			for _, question := range []string{text, synth.New(2).Question()} {
				if got, err := s.Keyword(t.Context(), question, &ken.Filter{}, 5); err != nil || len(got.Hits) == 0 {
					t.Errorf("%s finds nothing for %q: %v", p.Name, question, err)
				}
			}
			if _, err := s.VerifyLog(t.Context()); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			release()
			end()
		}
		if i == len(places)-1 {
			break
		}
		w, end := open(p)
		to := places[i+1]
		if to.Dir == "" {
			var err error
			to.Log, err = openLog(t.Context(), to.Name)
			must(t, err)
		}
		got, err := w.Move(t.Context(), "ada", p.Name, to, false)
		must(t, err)
		t.Logf("from %s to %s: %.1f MB, a pause of %v", p.Name, to.Name, float64(got.Bytes)/1e6, got.Pause)
		if to.Log != nil {
			must(t, to.Log.Close())
		}
		end()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
