package codebase_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// otherProcess loads what was saved, says how much it has to read, and who calls
// money.Sum.
func otherProcess(root string) int {
	t := &process{}
	c := open(t, root)
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded := c.View().Counts().Nodes
	r := build(t, c)
	refs, err := c.View().Refs("money.Sum", []codegraph.EdgeKind{codegraph.Calls}, codegraph.Page{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d nodes, %d changed, called by %s\n", loaded, r.Changed, refs.Refs[0].From.Name)
	return 0
}

// process is a test of another process.
type process struct{ testing.TB }

func (*process) Context() context.Context { return context.Background() }

func (*process) Helper()        {}
func (*process) Cleanup(func()) {}
func (*process) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

func (p *process) Fatalf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

func TestAnotherProcessLoads(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "KEN_TEST_CODEBASE="+root)
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("%d nodes, 0 changed, called by Total\n", c.View().Counts().Nodes)
	if err != nil || string(out) != want {
		t.Errorf("got %s, want %s, %v", out, want, err)
	}
}

func TestSaveAndLoad(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	if err := c.Save(); err != nil { // nothing was read, so nothing is known
		t.Fatal(err)
	}
	file := filepath.Join(root, ".ken", "state", codebase.FileName)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what nobody has read was saved: %v", err)
	}
	if err := c.Load(t.Context()); err != nil {
		t.Errorf("nothing to load: %v", err)
	}
	build(t, c)
	for range 2 {
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	next := open(t, root)
	if err := next.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if export(t, next) != export(t, c) {
		t.Error("what was loaded differs from what was saved")
	}
	// Files that changed in between are read, and nothing else.
	write(t, root, map[string]string{"money/money.go": strings.Replace(shop()["money/money.go"], "Sum", "Add", 2)})
	if r := build(t, next); r.Changed != 1 {
		t.Errorf("report %+v", r)
	}
	if _, err := next.View().One("money.Add"); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(file + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What can't be used is said, and built again.
func TestDamagedFile(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	want := export(t, c)
	file := filepath.Join(root, ".ken", "state", codebase.FileName)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := append([]byte{}, good...)
		b[at] ^= 0x10
		return b
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "cut in the head": good[:20], "cut": good[:len(good)/2], "one byte short": good[:len(good)-1], "too long": append(append([]byte{}, good...), 0),
		"another file": []byte("PNG\n" + strings.Repeat("x", 400)), "head": flip(3), "middle": flip(len(good) / 2), "end": flip(len(good) - 2),
	} {
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		next := open(t, root)
		err := next.Load(t.Context())
		if !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if n := next.View().Counts().Nodes; n != 0 {
			t.Errorf("%s: %d nodes of a damaged file", name, n)
		}
		if build(t, next); export(t, next) != want {
			t.Errorf("%s: it was not built again", name)
		}
		if err := next.Save(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := open(t, root); again.Load(t.Context()) != nil || export(t, again) != want {
			t.Errorf("%s: it was not saved again", name)
		}
	}
}

// Where nothing can be written, all is read all the same.
func TestStateThatCantBeWritten(t *testing.T) {
	root := project(t, shop())
	c := open(t, root, func(o *codebase.Options) { o.State = filepath.Join(root, "go.mod", "state") }) // below a file
	if err := c.Load(t.Context()); err != nil {
		t.Logf("load: %v", err)
	}
	build(t, c)
	has(t, c.View(), "method:example.com/shop/cart.Cart.Total", codegraph.Calls, "money.Sum")
	if err := c.Save(); err == nil {
		t.Error("saved below a file")
	}
}
