package codebase_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

// otherProcess loads the saved graph, and prints how many files it must read and who calls money.Sum.
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

// process runs a test in another process.
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

// A damaged file is reported, and the graph is built again.
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
		if !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(ken.Hint(err), "It is built again") || strings.HasSuffix(err.Error(), ": damaged") {
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

// If nothing can be written, everything can still be read.
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

// A file is stale by its size and time alone, until Update has examined it.
func TestStale(t *testing.T) {
	ctx := context.Background()
	root := project(t, shop())
	c, err := codebase.Open(ctx, codebase.Options{Root: root, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	paths := []string{"cart/cart.go", "web/app.ts", "cart/new.go", "money", "gone.go", "..", "../x.go", ".", "", "docs/adr/0001-cents.md"}
	check := func(what string, want ...string) {
		t.Helper()
		if got := c.Stale(paths...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	update := func() {
		t.Helper()
		if _, err := c.Update(ctx, c.Stale(paths...)...); err != nil {
			t.Fatal(err)
		}
	}
	check("files of which only the name was looked at, and folders", "money", "docs/adr/0001-cents.md")
	update()
	check("nothing")

	write(t, root, map[string]string{"cart/cart.go": "package cart\n\nfunc Fresh() {}\n", "cart/new.go": "package cart\n\nfunc Newer() {}\n"})
	if err := os.Chtimes(filepath.Join(root, "web/app.ts"), time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("changed, made and touched", "cart/cart.go", "web/app.ts", "cart/new.go")
	update()
	check("after an update")
	for _, name := range []string{"cart.Fresh", "cart.Newer"} {
		if _, err := c.View().One(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, p := range []string{"cart/new.go", "web/app.ts"} {
		if err := os.Remove(filepath.Join(root, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "money")); err != nil {
		t.Fatal(err)
	}
	check("deleted", "web/app.ts", "cart/new.go", "money")
	update()
	check("gone")
	if _, err := c.View().One("money.Amount"); err == nil {
		t.Error("what lay in a folder is still there")
	}
}

// A new file is connected to the project by imports in both directions.
func TestUpdateOfANewFile(t *testing.T) {
	ctx := context.Background()
	root := project(t, shop())
	c, err := codebase.Open(ctx, codebase.Options{Root: root, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"web/total.ts": "import { tax } from \"@lib/tax\";\nimport { format } from \"./format\";\n\nexport function total(n: number): string { return format(tax(n)); }\n"})
	if _, err := c.Update(ctx, "web/total.ts"); err != nil {
		t.Fatal(err)
	}
	once := hashesAndEdges(t, c)
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	if again := hashesAndEdges(t, c); once != again {
		t.Errorf("a build says more:\n%s\n%s", once, again)
	}
}

func hashesAndEdges(t *testing.T, c *codebase.Codebase) (out string) {
	t.Helper()
	s, err := c.View().Show("total.total")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.To {
		out += string(e.Kind) + " " + string(e.How) + " " + e.To.ID + "\n"
	}
	return out
}

// Results of the type checker are valid until the file changes, and are saved.
func TestTypes(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	files := shop()
	files["go.mod"] = "module example.com/shop\n\ngo 1.24\n"
	files["cart/pricer.go"] = "package cart\n\ntype Pricer interface{ Price() int }\n\ntype fixed int\n\nfunc (f fixed) Price() int { return int(f) }\n"
	root := project(t, files)
	c := open(t, root)
	build(t, c)
	hasNot(t, c.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	refined, report, err := c.Types(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Packages != 2 || report.Broken != 0 || refined.Files != 3 || refined.Stale != 0 {
		t.Errorf("refined %+v, report %+v", refined, report)
	}
	has(t, c.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	next := open(t, root)
	if err := next.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	build(t, next)
	has(t, next.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	write(t, root, map[string]string{"cart/pricer.go": "package cart\n\ntype Pricer interface{ Price(n int) int }\n\ntype fixed int\n\nfunc (f fixed) Price() int { return int(f) }\n"})
	update(t, next, "cart/pricer.go")
	hasNot(t, next.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
}

func TestTypesThatCantBeChecked(t *testing.T) {
	c := open(t, project(t, map[string]string{"a.py": "def f(): pass\n"}))
	build(t, c)
	if _, _, err := c.Types(t.Context()); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("without a module: %v", err)
	}
	c = open(t, project(t, shop()))
	build(t, c)
	t.Setenv("PATH", t.TempDir())
	if _, _, err := c.Types(t.Context()); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("without a go command: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := c.Types(ctx); err == nil {
		t.Error("after the end")
	}
}

// An index made by a real indexer turns guesses into exact edges, also in a subfolder of the project.
func TestImport(t *testing.T) {
	zoo := filepath.Join("..", "codegraph", "scip", "testdata", "zoo")
	for _, folder := range []string{"", "web/zoo"} {
		root := t.TempDir()
		for _, name := range []string{"animal.ts", "keeper.ts"} {
			b, err := os.ReadFile(filepath.Join(zoo, name))
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, map[string]string{filepath.Join(folder, name): string(b)})
		}
		c := open(t, root)
		build(t, c)
		before := c.View().Counts()
		in, err := os.Open(filepath.Join(zoo, "ts.scip"))
		if err != nil {
			t.Fatal(err)
		}
		refined, report, err := c.Import(t.Context(), in, scip.Options{Folder: folder, Made: later()})
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		if refined.Files != 2 || report.Placed == 0 || report.Missing+report.Stale != 0 {
			t.Errorf("%q: refined %+v, report %+v", folder, refined, report)
		}
		after := c.View().Counts()
		if after.Guesses >= before.Guesses || after.Edges < before.Edges-before.Guesses {
			t.Errorf("%q: before %+v, after %+v", folder, before, after)
		}
		old, err := os.Open(filepath.Join(zoo, "ts.scip"))
		if err != nil {
			t.Fatal(err)
		}
		if refined, report, err = c.Import(t.Context(), old, scip.Options{Folder: folder, Made: time.Unix(0, 0)}); err != nil || refined.Files != 0 || report.Stale != 2 {
			t.Errorf("of files changed since: %+v, %+v, %v", refined, report, err)
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, t.TempDir(), func(o *codebase.Options) { o.Exclude = []string{"*.ts"} })
	bad, err := os.Open(filepath.Join(zoo, "animal.ts"))
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close() // it was only read
	if _, _, err := c.Import(t.Context(), bad, scip.Options{}); err == nil {
		t.Error("a source file was taken for an index")
	}
}
