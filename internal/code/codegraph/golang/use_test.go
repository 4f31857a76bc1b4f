package golang_test

import "testing"

func TestUses(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"names of packages", "import (\n\"fmt\"\ny \"gopkg.in/yaml.v3\"\n_ \"embed\"\n)\nfunc f() { fmt.Println(y.Node{Kind: y.ScalarNode}) }",
			[]string{"cart.f calls fmt.Println", "cart.f references gopkg.in/yaml.v3.Node", "cart.f references gopkg.in/yaml.v3.ScalarNode", "cart.f references gopkg.in/yaml.v3.Node.Kind"}},
		{"names that follow from paths", "import (\n\"gopkg.in/yaml.v3\"\n\"example.com/go-openai\"\n\"k8s.io/api/core/v1\"\n\"example.com/bleve_index_api\"\n\"example.com/x/v2\"\n)\nvar _ = yaml.A + openai.B + v1.C + index.D + x.E",
			[]string{"file references gopkg.in/yaml.v3.A", "file references example.com/go-openai.B", "file references k8s.io/api/core/v1.C", "file references example.com/bleve_index_api.D", "file references example.com/x/v2.E"}},
		{"shadowed imports", "import \"fmt\"\nfunc f(fmt T) { fmt.Println(); { fmt := 1; _ = fmt } }",
			[]string{"cart.f references cart.T", "cart.f calls cart.T.Println"}},
		{"a package's variable that looks like an import", "import \"example.com/kv-store\"\nfunc f() { kvstore.A(); other.B() }",
			[]string{"cart.f calls example.com/kv-store.A", "cart.f references cart.other", "cart.f calls ~.B"}},
		{"own names", "func f() (err error) { x := g(len(y)); return h(x, nil) }",
			[]string{"cart.f calls cart.g", "cart.f references cart.y", "cart.f calls cart.h"}},
		{"what came late to the language", "func f(x int) int { if x > 1 { return max(x, 2) }; clear(nil); return 0 }",
			[]string{"cart.f calls cart.max", "cart.f calls cart.clear"}},
		{"dot imports", "import . \"example.com/shop/money\"\nfunc f() { g(); Sum(Money(1)); var _ T }\nfunc g() {}",
			[]string{"cart.f calls cart.g", "cart.f calls ~Sum", "cart.f calls ~Money", "cart.f references ~T"}},
		{"conversions", "type M int\nfunc f() { _ = M(1); _ = (*M)(nil); _ = []M(nil) }", []string{"cart.f references cart.M"}},
		{"receivers", "type T struct{ n int }\nfunc (t *T) f() { t.n++; t.g(); t.h.i() }",
			[]string{"cart.T.f references cart.T", "cart.T.f references cart.T.n", "cart.T.f calls cart.T.g", "cart.T.f references cart.T.h", "cart.T.f calls ~.i"}},
		{"parameters", "func f(a, b *T, c ...U) { a.x(); b.y = 1; c[0].z(); for _, d := range c { d.w() } }",
			[]string{"cart.f references cart.T", "cart.f references cart.U", "cart.f calls cart.T.x", "cart.f references cart.T.y", "cart.f calls cart.U.z", "cart.f calls cart.U.w"}},
		{"literals", "func f() { a := T{b: 1}; c := &T{}; d := new(T); e := make(map[string]*T); a.x(); c.x(); d.y(); e[\"\"].z() }",
			[]string{"cart.f references cart.T", "cart.f references cart.T.b", "cart.f calls cart.T.x", "cart.f calls cart.T.y", "cart.f calls cart.T.z"}},
		{"what a call gives", "type T struct{}\nfunc (T) g() *U { return nil }\nfunc two() (T, *U, error) { return T{}, nil, nil }\nfunc f() { t, u, err := two(); t.a(); u.b(); err.Error(); t.g().c() }",
			[]string{"cart.T.g references cart.T", "cart.T.g references cart.U", "cart.two references cart.T", "cart.two references cart.U", "cart.f calls cart.two", "cart.f calls cart.T.a", "cart.f calls cart.U.b", "cart.f calls cart.T.g", "cart.f calls cart.U.c"}},
		{"what a call elsewhere gives", "func f() { x := elsewhere(); x.y() }", []string{"cart.f calls cart.elsewhere", "cart.f calls ~.y"}},
		{"chains of fields", "type T struct { u U }\ntype U struct { v map[string][]*V }\nfunc f(t T) { t.u.v[\"\"][0].w() }",
			[]string{"cart.T.u references cart.U", "cart.U.v references cart.V", "cart.f references cart.T", "cart.f references cart.T.u", "cart.f references cart.U.v", "cart.f calls cart.V.w"}},
		{"embedding", "import \"sync\"\ntype A struct { B; *sync.Mutex; C[D] }\ntype B struct { n int }\nfunc (B) m() {}\ntype I interface { J; error }\nfunc f(a A, i I) { a.n++; a.m(); a.Lock(); i.Do() }",
			[]string{"cart.A inherits cart.B", "cart.A inherits sync.Mutex", "cart.A inherits cart.C", "cart.A references cart.D", "cart.B.m references cart.B", "cart.I inherits cart.J",
				"cart.f references cart.A", "cart.f references cart.I", "cart.f references cart.B.n", "cart.f calls cart.B.m", "cart.f calls cart.A.Lock", "cart.f calls cart.I.Do"}},
		{"structs without names", "func f() { for _, tt := range []struct{ a, b T }{{a: x}, {b: y}} { tt.a.z() } }",
			[]string{"cart.f references cart.T", "cart.f references cart.x", "cart.f references cart.y", "cart.f calls cart.T.z"}},
		{"literals within literals", "type T struct{ a []U; m map[K]U }\nvar _ = T{a: []U{{b: c}}, m: map[K]U{d: {b: e}}}",
			[]string{"cart.T.a references cart.U", "cart.T.m references cart.K", "cart.T.m references cart.U", "file references cart.T", "file references cart.T.a", "file references cart.T.m",
				"file references cart.U", "file references cart.U.b", "file references cart.K", "file references cart.c", "file references cart.d", "file references cart.e"}},
		{"type switches", "func f(v W, z any) { switch x := v.(type) { case *T: x.a(); case U, V: x.b(); default: x.c() }; z.d() }",
			[]string{"cart.f references cart.W", "cart.f references cart.T", "cart.f references cart.U", "cart.f references cart.V", "cart.f calls cart.T.a", "cart.f calls cart.W.b", "cart.f calls cart.W.c"}},
		{"generics", "type L[T P] struct { rows []T }\nfunc (l *L[E]) f(e E) E { e.a(); l.rows[0].b(); return g[E, X](e) }\nfunc g[A, B P](a A) B { a.c(); return h[B](a) }",
			[]string{"cart.L references cart.P", "cart.L.f references cart.L", "cart.L.f calls ~.a", "cart.L.f references cart.L.rows", "cart.L.f calls ~.b", "cart.L.f calls cart.g", "cart.L.f references cart.X",
				"cart.g references cart.P", "cart.g calls cart.P.c", "cart.g calls cart.h"}},
		{"local types", "func f() { type T struct { u U }; var t T; t.u.x(); t.y() }", []string{"cart.f references cart.U", "cart.f calls cart.U.x"}},
		{"labels and fields are no names", "func f() { loop: for { break loop; continue loop; goto loop } }", nil},
		{"variables of the file", "var t = T{}\nvar u, v = pair()\nfunc pair() (*U, V) { return nil, V{} }\nfunc f() { t.a(); u.b(); v.c() }",
			[]string{"cart.t references cart.T", "cart.u calls cart.pair", "cart.pair references cart.U", "cart.pair references cart.V", "cart.f references cart.t", "cart.f references cart.u", "cart.f references cart.v",
				"cart.f calls cart.T.a", "cart.f calls cart.U.b", "cart.f calls cart.V.c"}},
		{"cgo", "import \"C\"\nfunc f() { C.free(nil) }", nil},
		{"closures", "func f() { x := func(t *T) (u U) { t.a(); return }; x(nil).b() }", []string{"cart.f references cart.T", "cart.f references cart.U", "cart.f calls cart.T.a", "cart.f calls cart.U.b"}},
		{"if, else, select, switch", "func f(c chan T) { if x, ok := <-c; ok { x.a() } else { x.b() }; select { case y := <-c: y.d() }; switch z := g(); z { case h: } }",
			[]string{"cart.f references cart.T", "cart.f calls cart.T.a", "cart.f calls cart.T.b", "cart.f calls cart.T.d", "cart.f calls cart.g", "cart.f references cart.h"}},
		{"assertions", "import \"io\"\nvar _ io.Reader = (*T)(nil)\nvar _ I = T{}\nvar _ J = &T{}\nvar _ K = new(T)\ntype T struct{}",
			[]string{"cart.T implements io.Reader", "cart.T implements cart.I", "cart.T implements cart.J", "cart.T implements cart.K",
				"file references io.Reader", "file references cart.T", "file references cart.I", "file references cart.J", "file references cart.K"}},
		{"values of a struct of another package", "import \"net/http\"\nfunc f(addr string) { s := &http.Server{Addr: addr}; s.Close(); _ = http.Header{addr: nil} }",
			[]string{"cart.f references net/http.Server", "cart.f references net/http.Server.Addr", "cart.f calls net/http.Server.Close", "cart.f references net/http.Header"}},
		{"recursion without end", "type A struct{ A }\ntype B C\ntype C B\nvar x = y\nvar y = x\nfunc f(a A, b B) { a.m(); b.m(); x.m() }",
			[]string{"cart.A inherits cart.A", "cart.B references cart.C", "cart.C references cart.B", "cart.x references cart.y", "cart.y references cart.x", "cart.f references cart.A", "cart.f references cart.B",
				"cart.f references cart.x", "cart.f calls cart.A.m", "cart.f calls cart.B.m", "cart.f calls ~.m"}},
	} {
		t.Run(tt.name, func(t *testing.T) { same(t, uses(read(t, "package cart\n"+tt.src+"\n")), tt.want) })
	}
}
