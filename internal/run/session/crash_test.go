package session_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// crashes is how often a process is killed, each time with sessions under way.
const crashes = 6

// childTalker has three sessions at once, each of them ended and begun anew every
// few turns, and prints what was acknowledged, after it was.
func childTalker(dir string) {
	ctx := context.Background()
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		fail(err)
	}
	round := os.Getenv("KEN_TEST_ROUND")
	j := session.NewJournal(s.Shelf(), session.Options{Process: round})
	fmt.Println("ready")
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("r%s-w%d-n%d", round, w, n)
				var msgs []ken.Message
				for i := range 4 {
					msgs = append(msgs, user(fmt.Sprintf("%s-%d", id, i)))
					if _, err := j.Append(ctx, session.About{ID: id}, msgs); err != nil {
						fail(err)
					}
					fmt.Println("said", id, i+1)
				}
				if ended, err := j.End(ctx, id, session.Closed); err != nil || !ended {
					fail(fmt.Errorf("end: %v %w", ended, err))
				}
				fmt.Println("ended", id, 4)
			}
		})
	}
	wg.Wait()
}

// TestKillNineLosesNoMessageAndNoJob kills a process with sessions under way, at
// any point. Whatever was acknowledged is there, once; and a session that ended has
// its job, one that did not has none and is left to the next process.
func TestKillNineLosesNoMessageAndNoJob(t *testing.T) {
	rng := random(t)
	dir := t.TempDir()
	said, ended := map[string]int{}, map[string]bool{}
	for round := range crashes {
		for _, line := range kill(t, dir, round, 5+rng.IntN(120)) {
			var what, id string
			var n int
			if _, err := fmt.Sscan(line, &what, &id, &n); err != nil {
				t.Fatalf("the child said %q", line)
			}
			if said[id] = max(said[id], n); what == "ended" {
				ended[id] = true
			}
		}
	}
	if len(said) == 0 {
		t.Fatal("nothing was said before the kills")
	}
	ctx := t.Context()
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j := session.NewJournal(s.Shelf(), session.Options{Process: "after"})
	list, err := j.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]session.Info{}
	for _, info := range list {
		found[info.ID] = info
		tr, err := j.Read(ctx, info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Entries) < said[info.ID] || len(tr.Entries) != info.Messages {
			t.Errorf("%s: %d messages, %d acknowledged, %d counted", info.ID, len(tr.Entries), said[info.ID], info.Messages)
		}
		for i, e := range tr.Entries {
			if want := fmt.Sprintf("%s-%d", info.ID, i); e.Message.Text != want || e.Seq != uint64(i+1) {
				t.Errorf("%s: entry %d is %q, number %d", info.ID, i, e.Message.Text, e.Seq)
			}
		}
		if has := hasJob(t, s.Shelf(), &info); has != (info.State == session.Ended) || ended[info.ID] && !has {
			t.Errorf("%s is %s, and has a job: %v", info.ID, info.State, has)
		}
	}
	for id := range said {
		if _, ok := found[id]; !ok {
			t.Errorf("%s is gone", id)
		}
	}
	left, err := j.EndIdle(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range left {
		info, err := j.Info(ctx, id)
		if err != nil || info.State != session.Ended || info.Reason != session.Died || !hasJob(t, s.Shelf(), &info) {
			t.Errorf("%s, left behind: %+v, %v", id, info, err)
		}
	}
	t.Logf("%d kills, %d sessions, %d ended, %d left behind", crashes, len(list), len(ended), len(left))
}

// hasJob reports whether there is a job to harvest a session as far as it goes.
func hasJob(t testing.TB, shelf store.Shelf, info *session.Info) (has bool) {
	t.Helper()
	undo := errors.New("undo")
	err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		key := fmt.Sprintf("%s/%d/%d", info.ID, info.Part, info.Last)
		_, added, err := jobs.Add(tx, monday, jobs.New{Kind: session.JobHarvest, Key: key})
		has = !added
		return errors.Join(undo, err)
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	return has
}

// kill starts a process and kills it once it has printed so many lines, all of
// which it returns.
func kill(t *testing.T, dir string, round, after int) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "KEN_TEST_DIR="+dir, fmt.Sprintf("KEN_TEST_ROUND=%d", round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil { // a line cut in half was not acknowledged
			break
		}
		line = strings.TrimSpace(line)
		if why, bad := strings.CutPrefix(line, "error "); bad {
			t.Errorf("the child failed: %s", why)
		} else if line != "ready" {
			lines = append(lines, line)
		}
		if len(lines) == after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return lines
}
