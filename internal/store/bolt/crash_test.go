package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// crashes is how often a writer is killed; each round starts where the last one
// was cut off.
var crashes = race.Pick(12, 6)

// childWriter makes 1,000 random writes from four goroutines and prints what was
// acknowledged, a line each, after it was.
func childWriter() {
	ctx := context.Background()
	s, err := bolt.Open(ctx, os.Getenv("KEN_TEST_DIR"), bolt.Options{Embedder: embedtest.Bag{}})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	round := os.Getenv("KEN_TEST_ROUND")
	fmt.Println("ready")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var mine []string
			for i := range 250 {
				word := fmt.Sprintf("r%sw%dn%d", round, w, i)
				switch {
				case len(mine) > 3 && rand.IntN(5) == 0:
					id := mine[rand.IntN(len(mine))]
					if s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified}) == nil {
						fmt.Printf("verified %s -\n", id)
					}
				default:
					c, _ := ken.NewClaim("the acknowledged word is "+word, ken.FromAgentAssertion("writer", ""))
					id, err := s.WriteClaim(ctx, c)
					if err != nil {
						fmt.Println("error", err)
						os.Exit(1)
					}
					mine = append(mine, id)
					fmt.Printf("written %s %s\n", id, word)
				}
			}
		})
	}
	wg.Wait()
	fmt.Println("done")
}

// TestKillNineLosesNothingAcknowledged kills a writer at random points. After
// each kill, every acknowledged write is there, is found by its word, and the
// chain verifies.
func TestKillNineLosesNothingAcknowledged(t *testing.T) {
	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 1))
	dir := t.TempDir()
	written, verified := map[string]string{}, map[string]bool{}
	for round := range crashes {
		acked := crash(t, dir, round, 1+rng.IntN(race.Pick(400, 250)))
		for _, line := range acked {
			var what, id, word string
			if n, _ := fmt.Sscan(line, &what, &id, &word); n != 3 {
				t.Fatalf("writer said %q", line)
			}
			switch what {
			case "written":
				written[id] = word
			case "verified":
				verified[id] = true
			default:
				t.Fatalf("writer said %q", line)
			}
		}
		checkAcked(t, dir, written, verified)
	}
	t.Logf("%d writes acknowledged over %d kills", len(written), crashes)
}

// crash runs a writer and kills it once it has acknowledged enough.
func crash(t *testing.T, dir string, round, enough int) (acked []string) {
	cmd := child(t, "writer", dir)
	cmd.Env = append(cmd.Env, fmt.Sprint("KEN_TEST_ROUND=", round))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF { // a line cut in half was not acknowledged
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "error") {
			t.Fatalf("writer: %s", line)
		}
		if line == "ready" || line == "done" {
			continue
		}
		acked = append(acked, line)
		if len(acked) == enough {
			if err := cmd.Process.Kill(); err != nil { // SIGKILL: nothing gets a chance to flush
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	return acked
}

func checkAcked(t *testing.T, dir string, written map[string]string, verified map[string]bool) {
	t.Helper()
	ctx := context.Background()
	s, err := bolt.Open(ctx, dir, bolt.Options{Embedder: embedtest.Bag{}})
	if err != nil {
		t.Fatalf("reopen: %v", err)
	}
	defer closeStore(t, s)
	if _, err := s.VerifyLog(ctx); err != nil {
		t.Fatalf("verify log: %v", err)
	}
	for id, word := range written {
		got, err := s.Query(ctx, ken.Query{Question: word, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, c := range got {
			found = found || c.ID == id && (!verified[id] || c.Status == ken.StatusVerified)
		}
		if !found {
			t.Errorf("acknowledged claim %s (%s, verified %v) is not found by its word: %d hits", id, word, verified[id], len(got))
		}
	}
	if _, err := s.EmbedMissing(ctx); err != nil {
		t.Fatal(err)
	}
	if have, total := s.Coverage(); have != total {
		t.Errorf("%d of %d records have a vector", have, total)
	}
}
