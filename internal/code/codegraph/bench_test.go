//go:build unix

package codegraph

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// city is a project of 8,000 files in 800 packages, with about 200,000 nodes and 1.5 million edges. A few names are
// used everywhere, most are used locally, and some names are declared thousands of times.
type city struct {
	rnd   *rand.Rand
	words []string
}

const (
	cityFiles = 8000
	cityTypes = 6 // in a file, with three members each
)

func newCity() *city {
	c := &city{}
	parts := []string{"Shelf", "Line", "Order", "Cart", "Price", "Stock", "Read", "Write", "Open", "Parse", "Node", "Edge", "Index", "Store", "View", "Batch", "Token", "Route", "Field", "Query"}
	for _, a := range parts {
		for _, b := range parts {
			c.words = append(c.words, a+b)
		}
	}
	return c
}

func (c *city) pkg(file int) string {
	return fmt.Sprintf("example.com/city/area%02d/pkg%03d", file/10%40, file/10)
}

func (c *city) typeName(file, k int) string {
	n := file*cityTypes + k
	return fmt.Sprintf("%s%d", c.words[n%len(c.words)], n/len(c.words))
}

func (c *city) member(file, k, m int) string {
	if n := (file*31 + k*7 + m) % 20; n < 3 {
		return []string{"Close", "Total", "String"}[n]
	}
	return c.words[(file*7+k*3+m)%len(c.words)] + []string{"", "All", "Count"}[m]
}

// other returns a file that code in the given file may use: a popular one, a near one, or any.
func (c *city) other(file int) int {
	switch c.rnd.IntN(10) {
	case 0, 1, 2:
		return c.rnd.IntN(1 + c.rnd.IntN(200))
	case 3, 4, 5, 6:
		return file/10*10 + c.rnd.IntN(10)
	}
	return c.rnd.IntN(cityFiles)
}

// file returns file i. It is the same every time.
func (c *city) file(i int) File {
	c.rnd = rand.New(rand.NewPCG(7, uint64(i)))
	pkg := c.pkg(i)
	f := File{Path: fmt.Sprintf("area%02d/pkg%03d/file%04d.go", i/10%40, i/10, i), Hash: fmt.Sprintf("sha256:%064x", i), Language: "go", Within: "package:" + pkg, Scopes: []string{pkg}}
	add := func(k Kind, q string, parent int) int {
		l := len(f.Decls)*12 + 10
		f.Decls = append(f.Decls, Decl{Kind: k, Name: lastPart(q), Qualified: q, Parent: parent, Line: l, End: l + 10, Exported: true,
			Signature: "func (s *" + lastPart(q) + ") " + lastPart(q) + "(ctx context.Context, name string) error", Doc: lastPart(q) + " does what its name says, and a little more than that."})
		return len(f.Decls) - 1
	}
	for k := range cityTypes {
		t := pkg + "." + c.typeName(i, k)
		at := add(KindType, t, -1)
		for m := range 3 {
			add([]Kind{KindMethod, KindMethod, KindProperty}[m], t+"."+c.member(i, k, m), at)
		}
	}
	for range 10 {
		to := c.pkg(c.other(i))
		f.Imports = append(f.Imports, Import{Path: to, Target: "package:" + to, Line: 5})
	}
	for d := range f.Decls {
		for n := range 9 {
			o := c.other(i)
			k := c.rnd.IntN(cityTypes)
			x := Use{From: d, Kind: []EdgeKind{References, Calls, Calls, References, Inherits}[c.rnd.IntN(5)], Line: f.Decls[d].Line + n}
			if x.Kind == Inherits && (n > 0 || f.Decls[d].Kind != KindType) {
				x.Kind = References
			}
			switch c.rnd.IntN(12) {
			case 0:
				x.Name = c.typeName(o, k)
			case 1:
				x.Name = "." + c.member(o, k, c.rnd.IntN(3))
			case 2:
				x.Name, x.Qualified = "fmt."+c.words[c.rnd.IntN(50)], true
			case 3, 4, 5, 6:
				x.Name, x.Qualified = c.pkg(o)+"."+c.typeName(o, k), true
			default:
				m := c.rnd.IntN(3)
				x.Name, x.Qualified = c.pkg(o)+"."+c.typeName(o, k)+"."+c.member(o, k, m), true
			}
			f.Uses = append(f.Uses, x)
		}
	}
	return f
}

var builtCity = sync.OnceValue(func() *Graph {
	g := New()
	c := newCity()
	units := make([]*unit, cityFiles)
	for i := range units {
		f := c.file(i)
		units[i] = g.compact(&f)
	}
	g.replace(units, nil)
	return g
})

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkBuild builds the city's graph from extracted files, and reports the memory that it needs.
func BenchmarkBuild(b *testing.B) {
	c := newCity()
	files := make([]File, cityFiles)
	for i := range files {
		files[i] = c.file(i)
	}
	for b.Loop() {
		before := heap()
		g := New()
		g.Apply(files, nil)
		n := g.View().Counts()
		b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MB")
		b.ReportMetric(float64(n.Nodes), "nodes")
		b.ReportMetric(float64(n.Edges), "edges")
		runtime.KeepAlive(g)
	}
}

// BenchmarkApply edits one file: within a function, and so that a name is replaced by another.
func BenchmarkApply(b *testing.B) {
	g := builtCity()
	for name, edit := range map[string]func(f *File, n int){
		"body": func(f *File, n int) { f.Uses[n%len(f.Uses)].Line++; f.Uses = f.Uses[:len(f.Uses)-n%5] },
		"name": func(f *File, n int) {
			f.Decls = append(f.Decls, Decl{Kind: KindFunction, Name: fmt.Sprint("Fresh", n), Qualified: fmt.Sprint(f.Within[8:], ".Fresh", n), Parent: -1, Line: 1, End: 2, Exported: true})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu(b)()
			for n := 0; b.Loop(); n++ {
				f := newCity().file(n * 37 % cityFiles)
				f.Hash = fmt.Sprint("sha256:", n)
				edit(&f, n)
				g.Apply([]File{f}, nil)
				if name == "name" {
					if _, err := g.View().One(f.Decls[len(f.Decls)-1].Qualified); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	v := builtCity().View()
	for _, text := range []string{"ShelfLine12", "shelf", "line total", "slc", "pkg017.OrderCart", "t", "nothing at all like it"} {
		b.Run(text, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				v.Search(text, nil, 20)
			}
		})
	}
}

// BenchmarkFind looks up names as turns do. Most of them are in no graph.
func BenchmarkFind(b *testing.B) {
	v := builtCity().View()
	for _, text := range []string{"ShelfLine12", "pkg017.OrderCart", "numpy.linalg", "config.yaml", "order.Total", "nothing.like.it"} {
		b.Run(text, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				v.Find(text, 20)
			}
		})
	}
}

func BenchmarkQueries(b *testing.B) {
	g := builtCity()
	v := g.View()
	rnd := rand.New(rand.NewPCG(1, 1))
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = v.id(rnd.Int32N(v.nodes.n))
	}
	hub := v.sorted()[0]
	for i := range v.nodes.n {
		if len(v.nodes.at(i).in) > len(v.nodes.at(hub).in) {
			hub = i
		}
	}
	for name, ask := range map[string]func(id string) error{
		"Find":        func(id string) error { v.Find(id, 10); return nil },
		"Refs":        func(id string) error { _, err := v.Refs(id, nil, Page{}); return err },
		"Dependents":  func(id string) error { _, err := v.Dependents(id, 0, Page{}); return err },
		"Dependents2": func(id string) error { _, err := v.Dependents(id, 2, Page{}); return err },
		"Show":        func(id string) error { _, err := v.Show(id); return err },
		"Neighbours":  func(id string) error { _, _, err := v.Neighbours([]string{id}, 20); return err },
		"Picture":     func(id string) error { _, err := v.Picture(id, 2, 30); return err },
	} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for n := 0; b.Loop(); n++ {
				if err := ask(ids[n%len(ids)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/hub", func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				if err := ask(v.id(hub)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// cpu reports the processor time of an operation, which is more reliable than the clock on a busy machine.
func cpu(b *testing.B) func() {
	now := func() int64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return r.Utime.Nano() + r.Stime.Nano()
	}
	start := now()
	return func() { b.ReportMetric(float64(now()-start)/float64(b.N)/1000, "cpu-µs/op") }
}

func BenchmarkSave(b *testing.B) {
	v := builtCity().View()
	defer cpu(b)()
	for b.Loop() {
		var n counter
		if err := v.Save(&n); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/(1<<20), "file-MB")
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func BenchmarkLoad(b *testing.B) {
	data := saved(b, builtCity().View())
	defer cpu(b)()
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		g, err := Load(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MB")
		runtime.KeepAlive(g)
		b.StartTimer()
	}
}
