package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func openBolt(t testing.TB, dir string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestQueueOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := openBolt(t, dir, bolt.Options{})
	q := queue(s.Shelf())
	failed, waiting := add(t, q, "k", "1"), add(t, q, "other", "1")
	drain(t, q, one(fail))
	before, err := q.List(t.Context())
	if err != nil || len(before) != 2 {
		t.Fatalf("%d jobs, %v", len(before), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Drain(t.Context(), one(succeed)); err == nil {
		t.Error("a closed store drains")
	}
	q = queue(openBolt(t, dir, bolt.Options{}).Shelf(), func(o *jobs.Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } })
	after, err := q.List(t.Context())
	if got, want := fmt.Sprint(after), fmt.Sprint(before); got != want || err != nil {
		t.Errorf("list %s, want %s, %v", got, want, err)
	}
	if rep := drain(t, q, one(succeed)); rep.Done != 1 || rep.Jobs[0].ID != failed.ID {
		t.Errorf("%+v", rep)
	}
	wantState(t, q, waiting.ID, jobs.Queued, 0)
}

// nobody is Options.Alive if every other process was killed.
func nobody(string) bool { return false }

// childJobs runs the jobs in the folder and prints those that it finished. Each
// job writes one key on the shelf, in two steps.
func childJobs() {
	ctx := context.Background()
	s, err := bolt.Open(ctx, os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Alive: nobody, Attempts: 1000, Lost: 1000})
	handler := func(ctx context.Context, j jobs.Job, _ func(string, int, int)) (string, error) {
		for _, step := range []string{"/first", "/second"} {
			fmt.Println(j.Key + step)
			err := s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("work/"+j.Key+step, nil) })
			if err != nil {
				return "", err
			}
		}
		return "", nil
	}
	for {
		if _, err := q.Drain(ctx, map[string]jobs.Handler{"k": handler}); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if left, err := q.List(ctx, jobs.Queued, jobs.Running); err == nil && len(left) == 0 {
			fmt.Println("done")
			os.Exit(0)
		}
	}
}

// If the process is killed at any point, the queue loses no job, and starts none from the
// beginning twice.
func TestKillNineLosesNoJob(t *testing.T) {
	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 1))
	dir := t.TempDir()
	const count = 60
	s, err := bolt.Open(t.Context(), dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := jobs.NewQueue(s.Shelf(), jobs.Options{})
	for i := range count {
		add(t, q, "k", fmt.Sprint(i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kills := 0
	for finished := false; !finished; {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "KEN_TEST_CHILD=jobs", "KEN_TEST_DIR="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for left := 1 + rng.IntN(25); lines.Scan(); left-- {
			if line := lines.Text(); line == "done" {
				finished = true
			} else if len(line) > 5 && line[:5] == "error" {
				t.Fatalf("the child: %s", line)
			}
			if left == 0 && !finished {
				kills++
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed, or done
	}
	s = openBolt(t, dir, bolt.Options{})
	done, err := jobs.NewQueue(s.Shelf(), jobs.Options{}).List(t.Context(), jobs.Done)
	if err != nil || len(done) != count {
		t.Errorf("%d of %d jobs are done, %v", len(done), count, err)
	}
	runs := 0
	for _, j := range done {
		runs += int(j.Run)
	}
	if runs > count+kills {
		t.Errorf("%d runs of %d jobs with %d kills", runs, count, kills)
	}
	err = s.Shelf().View(t.Context(), func(r store.ShelfReader) error {
		n := 0
		for range r.Scan("work/") {
			n++
		}
		if n != 2*count {
			t.Errorf("%d of %d steps are done", n, 2*count)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d jobs, %d kills, %d runs", count, kills, runs)
}

func BenchmarkAdd(b *testing.B) {
	for name, shelf := range map[string]store.Shelf{"memory": newShelf(), "bolt": openBolt(b, b.TempDir(), bolt.Options{}).Shelf()} {
		b.Run(name, func(b *testing.B) {
			q := jobs.NewQueue(shelf, jobs.Options{})
			i := time.Now().UnixNano()
			for b.Loop() {
				i++
				if _, _, err := q.Add(b.Context(), jobs.New{Kind: "harvest", Key: fmt.Sprint(i), Payload: json.RawMessage(`{"session":"0198a000","part":1,"upto":20}`)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDrain is a thousand jobs that do nothing.
func BenchmarkDrain(b *testing.B) {
	for _, name := range []string{"memory", "bolt"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				shelf := newShelf()
				if name == "bolt" {
					shelf = openBolt(b, b.TempDir(), bolt.Options{}).Shelf()
				}
				err := shelf.Update(b.Context(), func(tx store.ShelfTx) error {
					for i := range 1000 {
						if _, _, err := jobs.Add(tx, time.Now(), jobs.New{Kind: "k", Key: fmt.Sprint(i)}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if rep := drain(b, jobs.NewQueue(shelf, jobs.Options{}), one(succeed)); rep.Done != 1000 {
					b.Fatalf("%d done", rep.Done)
				}
			}
		})
	}
}
