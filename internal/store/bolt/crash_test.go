package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
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

// filled is a folder with a few hundred claims in it.
func filled(t *testing.T) string {
	dir := t.TempDir()
	s, err := bolt.Open(context.Background(), dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var in []store.Incoming
	for i := range 300 {
		in = append(in, store.Incoming{Claim: claim(t, fmt.Sprintf("the port of service%d is %d", i, 8000+i))})
	}
	for _, o := range s.Import(context.Background(), in) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	closeStore(t, s)
	return dir
}

// If a bolt file can't be read, the error names it, and the file is not
// changed: unreadable data must never be overwritten.
func TestUnreadableFileIsRefusedAndKept(t *testing.T) {
	cases := map[string]func([]byte) []byte{
		"text file":         func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"short text file":   func([]byte) []byte { return []byte("hello") },
		"truncated to half": func(b []byte) []byte { return b[:len(b)/2] },
		"truncated to meta": func(b []byte) []byte { return b[:8192] },
		"truncated inside":  func(b []byte) []byte { return b[:12345] },
		"zeroed":            func(b []byte) []byte { return make([]byte, len(b)) },
		"zeroed meta": func(b []byte) []byte {
			clear(b[:8192])
			return b
		},
	}
	dir := filled(t)
	path := filepath.Join(dir, "ken.db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			bad := breakIt(append([]byte{}, good...))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(context.Background(), dir, bolt.Options{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), path) || ken.Hint(err) == "" {
				t.Errorf("error %q (hint %q) does not say that %s is broken and what to do", err, ken.Hint(err), path)
			}
			if now, _ := os.ReadFile(path); string(now) != string(bad) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestIndexIsRebuilt(t *testing.T) {
	cases := map[string]func(t *testing.T, index string){
		"deleted": func(t *testing.T, index string) { must(t, os.RemoveAll(index)) },
		"emptied": func(t *testing.T, index string) {
			must(t, os.RemoveAll(index))
			must(t, os.MkdirAll(index, 0o700))
		},
		"a file": func(t *testing.T, index string) {
			must(t, os.RemoveAll(index))
			must(t, os.WriteFile(index, []byte("x"), 0o600))
		},
		"every file overwritten": func(t *testing.T, index string) {
			must(t, filepath.WalkDir(index, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return os.WriteFile(path, []byte("garbage garbage garbage"), 0o600)
			}))
		},
		"every file truncated": func(t *testing.T, index string) {
			must(t, filepath.WalkDir(index, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return os.Truncate(path, 3)
			}))
		},
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			breakIt(t, filepath.Join(dir, "index"))
			rebuilt := 0
			s := open(t, dir, bolt.Options{Progress: func(stage string, done, total int) {
				if stage == "index" {
					rebuilt = done
				}
			}})
			if got := texts(t, s, "service7 port"); len(got) == 0 || got[0] != "the port of service7 is 8007" {
				t.Errorf("found %q", got)
			}
			if rebuilt != 300 {
				t.Errorf("progress told of %d records, not of 300", rebuilt)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func childHolder() {
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n') // until the parent closes it
	s.Close()
}

// The error in a second process names the process that holds the folder, instead of
// "database is locked".
func TestHeldFolderNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "holder", dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("holder said %q, %v", line, err)
	}
	_, err = bolt.Open(context.Background(), dir, bolt.Options{LockTimeout: 20 * time.Millisecond})
	pid := fmt.Sprintf("process %d", cmd.Process.Pid)
	if !errors.Is(err, ken.ErrHeld) || !strings.Contains(err.Error(), pid) || !strings.Contains(ken.Hint(err), pid) {
		t.Errorf("error %q (hint %q) does not name %s", err, ken.Hint(err), pid)
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	open(t, dir, bolt.Options{})
}

// Claims written while the clock was fast are not newer than claims written after the
// clock was corrected, once the store is opened again.
func TestWhatWasWrittenByAFastClock(t *testing.T) {
	dir := t.TempDir()
	right := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	begin := func(now time.Time) *bolt.Store {
		s, err := bolt.Open(t.Context(), dir, bolt.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write := func(s *bolt.Store, text string, e ken.Evidence) string {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Kind: ken.KindEpisode, Text: text, Evidence: []ken.Evidence{e}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := begin(right.AddDate(50, 0, 0))
	write(s, "from the fast clock", ken.FromUserStatement("s", "m"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = begin(right)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = begin(right.Add(time.Hour))
	defer s.Close()
	now := write(s, "from the right clock", ken.FromUserStatement("s", "m"))
	res, err := s.Newest(t.Context(), &ken.Filter{Kinds: []ken.Kind{ken.KindEpisode}}, 2)
	if err != nil || len(res.Hits) != 2 {
		t.Fatal(res, err)
	}
	for i, h := range res.Hits {
		row, _ := s.Row(h.Ref)
		if at := right.Add(time.Hour); row.CreatedAt.After(at) || row.Support.NewestAt.After(at) {
			t.Errorf("hit %d is of %v, its newest evidence of %v", i, row.CreatedAt, row.Support.NewestAt)
		}
	}
	// Both are of now, and of these the one that was written later comes first.
	s2, _ := s.Row(res.Hits[0].Ref)
	if s2.ID != now {
		t.Errorf("the newest is %s, want %s", s2.ID, now)
	}
}
