//go:build unix

package nodes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

const (
	claimsEach   = 1000 // of an owner
	turnsAtATime = 4    // on a node
)

// beTurns is the main function of a node that makes turns for random owners until its time is over. It
// prints how long each turn took, and the parts that were left out of it.
func beTurns() {
	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	c.Store.URL, c.Retrieval.Deadline = os.Getenv("KEN_NODE_URL"), 30*time.Second
	if mb, err := strconv.Atoi(os.Getenv("KEN_FOLDER_MB")); err == nil {
		c.Store.Folder = mb
	}
	l, err := middleware.Open(ctx, middleware.Options{Root: os.Getenv("KEN_NODE_DIR"), Config: &c, Strict: true, Log: quiet, Embedder: synth.NewEmbedder(256)})
	if err != nil {
		say("fault %v", err)
		return
	}
	many, _ := strconv.Atoi(os.Getenv("KEN_OWNERS"))
	length, _ := time.ParseDuration(os.Getenv("KEN_TURNS"))
	number, _ := strconv.ParseUint(os.Getenv("KEN_TURNS_NODE"), 10, 64)
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	for w := range uint64(turnsAtATime) {
		wg.Go(func() {
			rng, src := rand.New(rand.NewPCG(number, w)), synth.New(100*number+w)
			for n := 0; time.Now().Before(end); n++ {
				owner, begun := fmt.Sprint("o", rng.IntN(many)), time.Now()
				r := l.Assemble(ctx, ken.Turn{Owner: owner, Session: fmt.Sprintf("s%d.%d.%d", number, w, n), Messages: []ken.Message{{Role: "user", Text: src.Question()}}}).Receipt
				took := time.Since(begun)
				why := strings.Join(r.Degraded, "; ")
				if why == "" && n%10 == 0 {
					why = writeOnce(ctx, l, owner, src.Claim())
				}
				say("turn %d %s", took.Microseconds(), why)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	begun, tick := time.Now(), time.NewTicker(30*time.Second)
	for going := true; going; {
		select {
		case <-tick.C:
		case <-ended:
			going = false
		}
		sayMemory(time.Since(begun))
	}
	closing := time.Now()
	if err := l.Close(); err != nil {
		say("fault close: %v", err)
	}
	say("closed after %v", time.Since(closing).Round(100*time.Millisecond))
}

// folderSize returns a text with the number of files in a folder, and their total size.
func folderSize(dir string) string {
	n, bytes := 0, int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info, err := d.Info(); err == nil {
			n, bytes = n+1, bytes+info.Size()
		}
		return nil
	})
	return fmt.Sprintf("%d MB in %d files", bytes>>20, n)
}

// sayMemory prints the memory use of this process, and the size of its folder.
func sayMemory(after time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/status")
	mb := map[string]int{}
	for line := range bytes.Lines(status) {
		if f := strings.Fields(string(line)); len(f) == 3 && f[2] == "kB" {
			kb, _ := strconv.Atoi(f[1])
			mb[f[0]] = kb >> 10
		}
	}
	files, _ := os.ReadDir("/proc/self/fd")
	say("memory after %v: %d MB, at most %d; of it anonymous %d, files %d; heap %d, goal %d; %d goroutines, %d open files", after.Round(time.Second),
		mb["VmRSS:"], mb["VmHWM:"], mb["RssAnon:"], mb["RssFile:"], m.HeapAlloc>>20, m.NextGC>>20, runtime.NumGoroutine(), len(files))
	say("folder after %v: %s", after.Round(time.Second), folderSize(os.Getenv("KEN_NODE_DIR")))
	if dir := os.Getenv("KEN_TURNS_PROFILES"); dir != "" {
		for _, kind := range []string{"heap", "goroutine"} {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s.%s.%03d", os.Getenv("KEN_TURNS_NODE"), kind, int(after.Seconds()))))
			if err == nil {
				runtime.GC()
				_ = pprof.Lookup(kind).WriteTo(f, 0)
				_ = f.Close()
			}
		}
	}
}

func writeOnce(ctx context.Context, l *middleware.Layer, owner string, c ken.Claim) string {
	s, release, err := l.Store(ctx, owner)
	if err == nil {
		_, err = s.WriteClaim(ctx, c)
		release()
	}
	if err != nil {
		return "write: " + err.Error()
	}
	return ""
}

// TestTurnsOfManyOwners lets three nodes make turns for many owners. KEN_TURNS is how long, such as
// 10m. KEN_OWNERS is the number of owners, by default 2000. KEN_FOLDER_MB is store.folder_mb.
// KEN_TURNS_ENGINE is nats or postgres. Nothing may be left out of a turn, and no write may fail.
func TestTurnsOfManyOwners(t *testing.T) {
	length := os.Getenv("KEN_TURNS")
	if length == "" {
		t.Skip("SKIPPED: set KEN_TURNS=10m")
	}
	many := 2000
	if n, err := strconv.Atoi(os.Getenv("KEN_OWNERS")); err == nil {
		many = n
	}
	url := ""
	if os.Getenv("KEN_TURNS_ENGINE") == "postgres" {
		url = logtest.StartPostgres(t).URL()
	} else {
		url = logtest.StartNATS(t, 3).URL()
	}
	begun := time.Now()
	putOwners(t, url, many)
	t.Logf("%d owners of %d claims are there after %v", many, claimsEach, time.Since(begun).Round(time.Second))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards the rest
	var took []time.Duration
	leftOut, other := map[string]int{}, []string{}
	var wg sync.WaitGroup
	for i := range 3 {
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^$")
		cmd.Env = append(os.Environ(), "KEN_TURNS_NODE="+fmt.Sprint(i+int(seed.Of(t)%1000)), "KEN_NODE_URL="+url, "KEN_NODE_DIR="+t.TempDir(), "KEN_TURNS="+length, fmt.Sprint("KEN_OWNERS=", many))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				kind, rest, _ := strings.Cut(lines.Text(), " ")
				mu.Lock()
				if kind != "turn" {
					other = append(other, fmt.Sprintf("node %d: %s %s", i, kind, rest))
				} else {
					us, why, _ := strings.Cut(rest, " ")
					n, _ := strconv.Atoi(us)
					took = append(took, time.Duration(n)*time.Microsecond)
					if why != "" {
						leftOut[why]++
					}
				}
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, line := range other {
		t.Log(line)
		if strings.Contains(line, ": fault ") {
			t.Error(line)
		}
	}
	for why, n := range leftOut {
		t.Errorf("%d times: %s", n, why)
	}
	if len(took) == 0 {
		t.Fatal("there was no turn")
	}
	slices.Sort(took)
	at := func(p int) time.Duration {
		return took[min(len(took)*p/1000, len(took)-1)].Round(100 * time.Microsecond)
	}
	t.Logf("%d turns in %s: p50 %v, p95 %v, p99 %v, longest %v", len(took), length, at(500), at(950), at(990), at(1000))
}

// putOwners stores many owners in an engine. Their stores are copies of one store.
func putOwners(t *testing.T, url string, many int) {
	log, err := openLog(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	dir := t.TempDir()
	alone := shared.NewOwners(dir, 0, shared.Options{Store: bolt.Options{NoSync: true}})
	importClaims(t, alone, "first", claimsEach, 0)
	first := filepath.Join(dir, "first")
	whole := t.TempDir()
	s, release, err := alone.Get(t.Context(), "first")
	if err == nil {
		err = s.Compact(t.Context())
		release()
	}
	if err = errors.Join(err, alone.Close()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"ken.db", "index"} {
		if err := os.Rename(filepath.Join(first, part), filepath.Join(whole, part)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many {
		owner := fmt.Sprint("o", i)
		if err := rename(filepath.Join(whole, "ken.db"), owner); err != nil {
			t.Fatal(err)
		}
		lock, err := bolt.Acquire(whole, bolt.Options{Owner: owner, NoSync: true})
		if err == nil {
			err = lock.SetMark(bolt.LogMark(commitlog.Adopted))
		}
		if err == nil {
			_, err = commitlog.PutCopy(t.Context(), log, owner, whole, func(fn func(uint64, io.WriterTo) error) error { return lock.Snapshot(fn) })
		}
		if err = errors.Join(err, lock.Release()); err != nil {
			t.Fatal(err)
		}
	}
}

// rename changes the owner that is recorded in a store's file.
func rename(file, owner string) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("owner"), []byte(owner)) })
	return errors.Join(err, db.Close())
}
