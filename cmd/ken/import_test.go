package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/store/bolt"
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
