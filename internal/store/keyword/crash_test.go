package keyword

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, killWriter(dir))
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}

// exampleDir is a folder for an example, which has no testing.T.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "keyword")
	if err != nil {
		panic(err)
	}
	return dir
}

// killDir, when set, makes the test binary a writer to be killed.
const killDir = "KEYWORD_TEST_KILL_DIR"

// killBatch returns the n-th batch of the writer. It adds documents, replaces
// some and deletes one, so that the content of the index shows the number of
// batches.
func killBatch(n uint64) (up []Doc, del []uint32) {
	r := rand.New(rand.NewPCG(n, 7))
	for i := range uint32(1 + r.IntN(8)) {
		up = append(up, Doc{Ref: uint32(n)*10 + i, Text: "zebra " + batchWord(n)})
	}
	up = append(up, Doc{Ref: r.Uint32N(uint32(n)*10 + 1), Text: "zebra " + batchWord(n)})
	return up, []uint32{r.Uint32N(uint32(n)*10 + 1)}
}

func batchWord(n uint64) string { return word(100_000 + n) }

// killWriter applies batches from the index's watermark on, and prints each.
func killWriter(dir string) error {
	x, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	for n := x.Watermark() + 1; ; n++ {
		up, del := killBatch(n)
		if err := x.Apply(up, del, n); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// An index that lost its last batches must have exactly the batches up to its
// watermark. A watermark ahead of the documents would hide the loss.
func TestWatermarkIsNeverAheadAfterKill(t *testing.T) {
	kills, least, spread := race.Pick(25, 12), race.Pick(100, 5), race.Pick(300, 60)
	if testing.Short() {
		kills = 5
	}
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	dir := t.TempDir()
	lost, reached := uint64(0), uint64(0)
	for range kills {
		lines := least + r.IntN(spread)
		if reached == 0 {
			lines += 160 // the first tail lands about here, and most batches after it do
		}
		applied := killAfter(t, dir, lines)
		x := openTest(t, dir, Options{})
		if x.Watermark() > applied {
			t.Fatalf("watermark %d, but the writer had only reached %d", x.Watermark(), applied)
		}
		lost, reached = lost+applied-x.Watermark(), x.Watermark()
		checkBatches(t, x, x.Watermark())
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches are in the index, %d were lost and applied again", reached, lost)
	if reached == 0 {
		t.Error("nothing was ever on disk: this test proves nothing")
	}
}

// killAfter runs the writer until it has reported lines batches, kills it, and
// returns the last batch that it can have applied.
func killAfter(t *testing.T, dir string, lines int) uint64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	last := uint64(0)
	read := func() bool {
		if !scan.Scan() {
			return false
		}
		last, err = strconv.ParseUint(scan.Text(), 10, 64)
		return err == nil
	}
	for range lines + 1 {
		if !read() {
			t.Fatalf("the writer ended after batch %d: %v", last, err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for read() { // its last output before it was killed
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return last + 1 // one more may have been applied and not reported
}

// checkBatches compares the index with the documents of batches 1 to n.
func checkBatches(t *testing.T, x *Index, n uint64) {
	t.Helper()
	want := map[uint32]uint64{} // ref to batch
	for i := uint64(1); i <= n; i++ {
		up, del := killBatch(i)
		for _, d := range up {
			want[d.Ref] = i
		}
		for _, ref := range del {
			delete(want, ref)
		}
	}
	if x.Count() != uint64(len(want)) {
		t.Fatalf("at watermark %d there are %d documents, want %d", n, x.Count(), len(want))
	}
	found := 0
	for i := uint64(1); i <= n+3; i++ {
		res, err := x.Search(context.Background(), Query{Text: batchWord(i)})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			if want[h.Ref] != i {
				t.Fatalf("at watermark %d, document %d is of batch %d, want %d", n, h.Ref, i, want[h.Ref])
			}
			found++
		}
	}
	if found != len(want) {
		t.Fatalf("at watermark %d, %d documents are found, want %d", n, found, len(want))
	}
}

// A text that can't be analyzed is found by no word. The other documents of its batch
// are not affected, whichever goroutine analyzes it. It can be replaced later.
func TestApplySurvivesAText(t *testing.T) {
	tokens = func(buf []analysis.Token, s string) []analysis.Token {
		if strings.Contains(s, "exploder") {
			panic("what a text")
		}
		return analysis.Tokens(buf, s)
	}
	defer func() { tokens = analysis.Tokens }()
	for _, n := range []int{3, 400} {
		x := openTest(t, t.TempDir(), Options{})
		docs := make([]Doc, n)
		for i := range docs {
			docs[i] = Doc{Ref: uint32(i), Text: fmt.Sprint("zebra number", i)}
		}
		docs[1].Text = "zebra exploder"
		apply(t, x, docs, nil, 1)
		if res := search(t, x, Query{Text: "zebra", Limit: n}); len(res.Hits) != n-1 || slices.Contains(refs(res.Hits), 1) {
			t.Errorf("%d of %d are found", len(res.Hits), n)
		}
		apply(t, x, []Doc{{Ref: 1, Text: "zebra again"}}, nil, 2)
		if res := search(t, x, Query{Text: "again", Limit: 3}); !slices.Equal(refs(res.Hits), []uint32{1}) {
			t.Errorf("replaced: %v", refs(res.Hits))
		}
	}
}

// The engine maps its files. When they are truncated, a write returns an error, and the process
// continues.
func TestFilesThatBecomeShorter(t *testing.T) {
	for name, write := range map[string]func(*Index) error{
		"a new document":           func(x *Index) error { return x.Apply([]Doc{{Ref: 5, Text: "zebra five"}}, nil, 9) },
		"a document again":         func(x *Index) error { return x.Apply([]Doc{{Ref: 1, Text: "zebra again"}}, nil, 9) },
		"a document that is gone":  func(x *Index) error { return x.Apply(nil, []uint32{2}, 9) },
		"more than is kept aside":  func(x *Index) error { return x.Apply(many(directBatch), nil, 9) },
		"erasing what was removed": func(x *Index) error { return x.Scrub(context.Background()) },
		"merging": func(x *Index) error {
			engine, done, err := x.use()
			if err != nil {
				return err
			}
			defer done()
			return x.merge(context.Background(), engine)
		},
	} {
		t.Run(name, func(t *testing.T) {
			merges := name == "merging" || name == "erasing what was removed"
			// The engine merges by itself, too. If that is first, a file may be deleted before it
			// is cut, or there may be nothing left to merge. That proves nothing, so the test tries
			// again.
			for range 20 {
				err := writeAsFilesBecomeShorter(t, merges, write)
				switch {
				case merges && (err == nil || errors.Is(err, fs.ErrNotExist)):
				case err == nil && name != "a new document": // which is kept aside
					t.Fatal("no error")
				default:
					return
				}
			}
			t.Error("no error in 20 tries")
		})
	}
}

// writeAsFilesBecomeShorter makes an index of one segment, or of two that can be merged. It
// cuts the files to length 0 while the index is open, and returns the result of write. The
// error is fs.ErrNotExist if a file was deleted before it was cut.
func writeAsFilesBecomeShorter(t *testing.T, two bool, write func(*Index) error) error {
	t.Helper()
	dir := t.TempDir()
	x := openTest(t, dir, Options{})
	apply(t, x, many(5), nil, 1)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if two {
		x = openTest(t, dir, Options{})
		apply(t, x, []Doc{{Ref: 7, Text: "zebra seven"}}, nil, 2)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	x = openTest(t, dir, Options{})
	segments, err := filepath.Glob(filepath.Join(dir, "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %q, %v", segments, err)
	}
	for _, s := range segments {
		err = errors.Join(err, os.Truncate(s, 0))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		t.Fatal(err)
	}
	was := write(x)
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	return was
}

func many(n int) []Doc {
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{Ref: uint32(i), Text: fmt.Sprint("zebra number", i)}
	}
	return docs
}
