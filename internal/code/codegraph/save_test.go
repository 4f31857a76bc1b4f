package codegraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestSavedGraphsAreTheSameWhateverTheirPast(t *testing.T) {
	g := newShop()
	data := saved(t, g.View())
	other := New()
	other.Apply([]File{file("gone.zig", "zig", "func gone.f")}, nil)
	files := shop()
	for i := len(files) - 1; i >= 0; i-- {
		other.Apply(files[i:i+1], []string{"gone.zig"})
	}
	other.Govern(shopDecisions())
	if !bytes.Equal(data, saved(t, other.View())) {
		t.Error("another file")
	}
	loaded, err := Load(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(export(t, g.View()), export(t, loaded.View())); diff != "" {
		t.Errorf("-saved +loaded:\n%s", diff)
	}
}

func TestDamagedFilesSayToBuildAgain(t *testing.T) {
	data := saved(t, newShop().View())
	check := func(what string, b []byte) {
		if g, err := Load(bytes.NewReader(b)); !errors.Is(err, ken.ErrCorrupt) || g != nil || ken.Hint(err) != "Build the graph again." {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("nothing", nil)
	check("another file", []byte("{\"version\":1}"))
	for i := 0; i < len(data); i += 1 + i/200 {
		b := bytes.Clone(data)
		b[i] ^= 0x55
		check("a byte", b)
		check("cut off", data[:i])
	}
	check("more", append(bytes.Clone(data), 0))
	for i, v := range versions {
		older := bytes.Clone(data)
		older[len(fileMagic)+i]--
		older = sign(older[:len(older)-4])
		check("another version", older)
		if _, err := Load(bytes.NewReader(older)); !strings.Contains(err.Error(), "another version of "+v.of) {
			t.Errorf("%s: %v", v.of, err)
		}
	}
	if _, err := Load(io.MultiReader(bytes.NewReader(data[:9]), brokenReader{})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := newShop().View().Save(brokenWriter{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that fails: %v", err)
	}
	if err := newShop().View().ExportJSON(brokenWriter{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type (
	brokenReader struct{}
	brokenWriter struct{}
)

func (brokenReader) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func sign(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}

// FuzzLoad adds a valid checksum to its input, so that the body is read. Load may refuse it; otherwise the graph is
// usable.
func FuzzLoad(f *testing.F) {
	for _, g := range []*Graph{New(), newShop()} {
		var b bytes.Buffer
		if err := g.View().Save(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes()[:b.Len()-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := Load(bytes.NewReader(sign(body)))
		if err != nil {
			if !errors.Is(err, ken.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		v := g.View()
		v.Search("line total", nil, 5)
		for _, i := range v.sorted() {
			_, _ = v.Show(v.id(i))
			_, _ = v.Dependents(v.id(i), 0, Page{})
		}
		export(t, v)
		g.Apply([]File{file("cart/line.go", "go", "in package:a", "type a.T")}, []string{"cart/total.go"})
		g.Govern(nil)
		export(t, g.View())
	})
}

// FuzzApply applies a file with arbitrary names.
func FuzzApply(f *testing.F) {
	f.Add("a/b.go", "go", "package:a", "a.T", ".M", "file:a/c", 1, 2)
	f.Add("", "", "x", "..", ".", "package:", -1, 1<<40)
	f.Fuzz(func(t *testing.T, path, language, within, name, used, imported string, a, b int) {
		x := File{Path: path, Hash: name, Language: language, Within: within, Scopes: []string{name, within}, Test: a%2 == 0,
			Decls:   []Decl{{KindType, name, name, b, a, b, true, used, imported, within}, {KindMethod, used, name + used, a, b, a, false, name, path, name}, {KindFunction, path, within + "." + used, 0, a, b, true, "", "", used + "." + name}},
			Imports: []Import{{used, name, imported, a}, {path, "", within, b}},
			Aliases: []Alias{{used, name}, {"*", within}, {name, used + "." + within}},
			Uses:    []Use{{a, Calls, used, false, b, false, a}, {b, References, name, true, a, true, b}, {0, Inherits, imported, false, 1, false, 0}, {0, Calls, used + "." + name, true, 1, true, 2}}}
		g := newShop()
		g.Apply([]File{x}, nil)
		g.Refine(Refinement{Source: name, Kinds: []EdgeKind{EdgeKind(used), Calls}, Files: []RefinedFile{{path, name, x.Decls, []RefinedEdge{{within, imported, Calls, a, b}, {name, "package:" + used, References, b, a}}}}})
		g.Govern([]Decision{{ID: name, Path: path, Line: a, Targets: []Target{{used, How(name)}, {imported, Guess}, {path, Exact}}}})
		checkConsistent(t, g.View())
		g.View().Search(name+" "+used, nil, 3)
		reloaded(t, g)
		g.Apply(nil, []string{path})
		g.Govern(shopDecisions())
		if diff := cmp.Diff(export(t, newShop().View()), export(t, g.View())); diff != "" && !shopHas(path) {
			t.Errorf("it left something behind:\n%s", diff)
		}
	})
}

func shopHas(path string) bool {
	for _, f := range shop() {
		if f.Path == path {
			return true
		}
	}
	return false
}
