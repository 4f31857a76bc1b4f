package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/store"
)

// Ctrl-C must end a command that waits for a terminal or a pipe.
func TestUntilEndsAlthoughTheInputWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	forever := make(chan struct{})
	defer close(forever)
	seq := func(yield func(int) bool) {
		yield(1)
		<-forever
	}
	var got []int
	for v := range until(ctx, seq) {
		got = append(got, v)
		cancel()
	}
	if !slices.Equal(got, []int{1}) {
		t.Errorf("got %v", got)
	}
}

func TestUntilYieldsEverythingInOrder(t *testing.T) {
	want := make([]int, 1000)
	for i := range want {
		want[i] = i
	}
	if got := slices.Collect(until(t.Context(), slices.Values(want))); !slices.Equal(got, want) {
		t.Errorf("got %d values", len(got))
	}
}

func TestReplaceFileIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := replaceFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if b, _ := os.ReadFile(path); !errors.Is(err, broken) || string(b) != "old" {
		t.Errorf("%v; the file is %q", err, b)
	}
	err = replaceFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if b, _ := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("%v; the file is %q", err, b)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOwnersAreReadFromTheirFolders(t *testing.T) {
	dir := t.TempDir()
	want := []string{".dot", "a/b", "c:d", "e f", "kim@example.org", "東京"}
	for _, owner := range want {
		if err := os.Mkdir(filepath.Join(dir, bolt.FolderName(owner)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{".hidden", "100%"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ownersIn(dir)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// full is a store that has room for the batches that begin with the text "fits".
type full struct{ store.Engine }

func (full) Import(_ context.Context, in []store.Incoming) []store.Outcome {
	out := make([]store.Outcome, len(in))
	if in[0].Claim.Text != "fits" {
		for i := range out {
			out[i].Err = &ken.Error{Code: ken.CodeUnavailable, Msg: "no space left on device", Try: "Make room."}
		}
	}
	return out
}

func (full) Owner() string { return ken.DefaultOwner }

// An import that finds no room says so once, where, and does not try the rest.
func TestImportStopsWhereTheDiskIsFull(t *testing.T) {
	var said strings.Builder
	im := &importer{s: full{}, tell: &said, progress: (&app{quiet: true}).progress(), hints: map[string]bool{}}
	for n := range 10 * importBatch {
		if im.stopped != nil {
			break
		}
		l := jsonl.Line{N: n + 1}
		if n < importBatch {
			l.Claim.Text = "fits"
		}
		im.add(t.Context(), "f", l)
	}
	im.settleAll()
	if im.stopped == nil || !strings.Contains(im.stopped.Error(), "stopped at f:1001: no space") || !strings.Contains(ken.Hint(im.stopped), "Make room. Then import") {
		t.Errorf("%v, %s", im.stopped, ken.Hint(im.stopped))
	}
	if said.String() != "" || im.sum.Unchanged != importBatch || im.sum.Failed > 4*importBatch {
		t.Errorf("%+v, said %q", im.sum, said.String())
	}
}
