package codebase_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// watched is a codebase that is updated by Watch.
type watched struct {
	*testing.T
	*codebase.Codebase
	root string
	told chan []string
}

func watch(t *testing.T, root string) *watched {
	t.Helper()
	w := &watched{t, open(t, root), root, make(chan []string)}
	build(t, w.Codebase)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- w.Watch(ctx, func(paths []string) {
			if _, err := w.Update(ctx, paths...); err != nil && ctx.Err() == nil {
				t.Errorf("update %q: %v", paths, err)
			}
			select {
			case w.told <- paths:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	// Nothing is reported until files are followed, and the first report says that they are.
	for i := 0; ; i++ {
		write(t, root, map[string]string{"first.txt": "x" + string(rune('0'+i%10))})
		select {
		case <-w.told:
			return w
		case <-t.Context().Done():
			t.Fatal("nothing was told")
		case <-time.After(100 * time.Millisecond): // and again, until the files are followed
		}
	}
}

// until applies reported changes until ok is true for the graph.
func (w *watched) until(what string, ok func(v *codegraph.View) bool) {
	w.Helper()
	for !ok(w.View()) {
		select {
		case <-w.told:
		case <-w.Context().Done():
			w.Fatalf("%s was not told", what)
		}
	}
}

func (w *watched) knows(id string) func(v *codegraph.View) bool {
	return func(v *codegraph.View) bool { _, err := v.One(id); return err == nil }
}

// Changes by editors and git are reported.
func TestWatch(t *testing.T) {
	root := project(t, shop())
	w := watch(t, root)
	write(t, root, map[string]string{"cart/new.go": "package cart\n\nfunc Added() {}\n"})
	w.until("a new file", w.knows("cart.Added"))

	// As editors do: beside, and then in its place.
	write(t, root, map[string]string{"cart/new.go.tmp": "package cart\n\nfunc Renamed() {}\n"})
	if err := os.Rename(filepath.Join(root, "cart", "new.go.tmp"), filepath.Join(root, "cart", "new.go")); err != nil {
		t.Fatal(err)
	}
	w.until("a file in place of another", w.knows("cart.Renamed"))

	// A folder with all that is in it, and below.
	write(t, root, map[string]string{"deep/er/still/x.go": "package still\n\nfunc Deep() {}\n"})
	w.until("a new folder", w.knows("still.Deep"))
	write(t, root, map[string]string{"deep/er/still/y.go": "package still\n\nfunc Deeper() {}\n"})
	w.until("a file in a new folder", w.knows("still.Deeper"))

	// A moved file is found in its new place only.
	if err := os.Rename(filepath.Join(root, "deep"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	w.until("a folder that was moved", func(v *codegraph.View) bool {
		n, err := v.One("file:moved/er/still/x.go")
		_, old := v.One("file:deep/er/still/x.go")
		return err == nil && n.Path != "" && old != nil
	})
	write(t, root, map[string]string{"moved/er/still/z.go": "package still\n\nfunc Deepest() {}\n"})
	w.until("a file in a folder that was moved", w.knows("still.Deepest"))

	if err := os.RemoveAll(filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	w.until("a folder that was deleted", func(v *codegraph.View) bool { return !w.knows("still.Deep")(v) })

	// A decision, by hand.
	write(t, root, map[string]string{"docs/adr/0007-x.md": "---\nstatus: accepted\ngoverns: [cart.Cart]\n---\n# ADR-0007: Carts\n\n## Decision\n\nSo.\n"})
	w.until("a new decision", w.knows("adr:ADR-0007"))
}

// Changes of files that belong to tools are not reported.
func TestWatchLeavesOut(t *testing.T) {
	root := project(t, shop())
	write(t, root, map[string]string{".git/HEAD": "ref: x\n", ".ken/state/a": "x", "node_modules/p/i.js": "x"})
	w := watch(t, root)
	write(t, root, map[string]string{".git/HEAD": "ref: y\n", ".git/objects/aa": "x", ".ken/state/a": "y", "node_modules/p/i.js": "y", "last.txt": "x"})
	for {
		paths := <-w.told
		for _, p := range paths {
			if p != "last.txt" && p != "first.txt" {
				t.Errorf("told of %s", p)
			}
		}
		if slices.Contains(paths, "last.txt") {
			break
		}
	}
}
