package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// codeLayer is a layer over a project of one file.
func codeLayer(t *testing.T) *Layer {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "m.go": "package m\n\n// OpenDoor opens it.\nfunc OpenDoor() {}\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	l, err := Open(context.Background(), Options{Root: root, Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func askOf(q string) ken.Turn { return ken.Turn{Messages: []ken.Message{{Role: "user", Text: q}}} }

// A graph that is being read holds no turn up, and says so where it is missed.
func TestAGraphThatIsBeingRead(t *testing.T) {
	l := codeLayer(t)
	l.o.Foreground = false
	for q, want := range map[string][]string{"What does OpenDoor do?": {"graph: being read"}, "How do doors open?": nil, "thanks!": nil} {
		r := l.Assemble(t.Context(), askOf(q)).Receipt
		if !slices.Equal(r.Degraded, want) || strings.Contains(r.Cause, "graph") {
			t.Errorf("%s: %q, cause %q", q, r.Degraded, r.Cause)
		}
	}
	l.o.Foreground = true
	ctx, cancel := context.WithCancel(t.Context())
	l.code.loading <- struct{}{} // somebody reads it
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := l.Operator().ReadCode(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-l.code.loading
	l.cfg.Retrieval.Deadline = time.Minute
	if r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt; !strings.Contains(r.Block, "OpenDoor opens it") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

// In the foreground, a turn waits for the code, but keeps time for what else is known.
func TestATurnDoesNotWaitForAllOfTheCode(t *testing.T) {
	l := codeLayer(t)
	l.slack = time.Minute // the machine may be slow
	remember(t, l, "OpenDoor creaks in winter.")
	l.code.loading <- struct{}{} // reading takes long
	r := l.Assemble(t.Context(), askOf("Why does OpenDoor creak in winter?")).Receipt
	if !strings.Contains(r.Block, "creaks in winter") || !slices.Equal(r.Degraded, []string{"graph: being read"}) {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
	<-l.code.loading // the reading that this turn began goes on
	<-l.code.loaded
	if r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt; !strings.Contains(r.Block, "OpenDoor opens it") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

// Refresh reads the code, so that no turn after it waits.
func TestRefreshReadsTheCode(t *testing.T) {
	l := codeLayer(t)
	if _, err := l.Refresh(t.Context(), ""); err != nil || !l.code.isLoaded() {
		t.Errorf("the code is read: %v, %v", l.code.isLoaded(), err)
	}
}

func remember(t *testing.T, l *Layer, text string) {
	t.Helper()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// A caller that can't wait can see how far reading has come, and when it is done.
func TestHowFarTheCodeWasRead(t *testing.T) {
	l := codeLayer(t)
	if so, read := l.Operator().CodeRead(); read || so.Total > 0 {
		t.Errorf("before: %+v, read %v", so, read)
	}
	if _, err := l.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	if so, read := l.Operator().CodeRead(); !read || so.Done != so.Total || so.Total == 0 {
		t.Errorf("afterwards: %+v, read %v", so, read)
	}
}

// What fails in the code costs the turn nothing else.
func TestTheCodeFailsOpen(t *testing.T) {
	l := codeLayer(t)
	base := l.code.base
	defer func() { l.code.base = base }()
	l.code.base = &codebase.Codebase{} // every question to it panics
	close(l.code.loaded)
	remember(t, l, "OpenDoor creaks in winter.")
	r := l.Assemble(t.Context(), askOf("Why does OpenDoor creak in winter?")).Receipt
	if !strings.Contains(r.Block, "creaks in winter") || len(r.Degraded) != 1 || !strings.HasPrefix(r.Degraded[0], "graph: panic") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

// A turn waits for files that are being read only so long, does not show what they said
// before, and those who read go on.
func TestATurnWaitsOnlySoLong(t *testing.T) {
	l := codeLayer(t)
	if _, err := l.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold, held := make(chan struct{}), make(chan struct{}, 8)
	read := l.code.refresh.read
	l.code.refresh.read = func(ctx context.Context, paths []string) {
		held <- struct{}{}
		<-hold
		read(ctx, paths)
	}
	l.o.Foreground = false
	if err := os.WriteFile(filepath.Join(l.o.Root, "m.go"), []byte("package m\n\n// OpenDoor locks it.\nfunc OpenDoor() { _ = 1 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt
	if took := time.Since(start); took < editWait {
		t.Errorf("it waited for %s", took)
	}
	if strings.Contains(r.Block, "OpenDoor") || !slices.Equal(r.Degraded, []string{"graph: " + causeCodeStale}) {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
	<-held
	close(hold)
	l.o.Foreground = true
	if r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt; !strings.Contains(r.Block, "OpenDoor locks it") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var batches [][]string
		r := newCodeRefresh(func(ctx context.Context, paths []string) {
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(paths)
			batches = append(batches, paths)
			time.Sleep(time.Second)
		}, time.Now)
		first := r.request("a")
		synctest.Wait()
		second, third := r.request("c", "b"), r.request("b") // they go together
		if second != third {
			t.Error("two batches")
		}
		<-first
		<-second
		if r.request() == nil {
			t.Error("nobody looked around yet")
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if r.request() != nil {
			t.Error("all files were just looked at")
		}
		time.Sleep(rescanFactor*time.Second + 1)
		last := r.request()
		if last == nil {
			t.Error("that was long ago")
		}
		synctest.Wait()
		r.close()
		<-last
		<-r.request("z") // is not read
		if want := [][]string{{"a"}, {"b", "c"}, nil, nil}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("read %q", batches)
		}
	})
}

// A tool call is looked at once in its conversation, and again in another.
func TestToolCallsAreLookedAtOnce(t *testing.T) {
	l := codeLayer(t)
	turn := ken.Turn{Owner: "o", Session: "s", Messages: []ken.Message{
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "1", Name: "Write", Arguments: `{"file_path":"m.go","content":"x"}`}}},
		{Role: "tool", ToolCallID: "1", Text: "ok"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "2", Name: "Read", Arguments: `{"file_path":"n.go"}`}, {ID: "3", Name: "move_file", Arguments: `{"source":"a","destination":"../b"}`}}},
		{Role: "tool", ToolCallID: "2", Text: "ok"}, {Role: "tool", ToolCallID: "3", Text: "ok"},
	}}
	if got := l.editedFiles(&turn); !slices.Equal(got, []string{"m.go", "a"}) {
		t.Errorf("got %q", got)
	}
	if got := l.editedFiles(&turn); len(got) > 0 {
		t.Errorf("again: %q", got)
	}
	turn.Session = "other"
	if got := l.editedFiles(&turn); len(got) != 2 {
		t.Errorf("another conversation: %q", got)
	}
	turn.Session = ""
	for range 2 {
		if got := l.editedFiles(&turn); len(got) != 2 {
			t.Errorf("without a session: %q", got)
		}
	}
}

// declared returns a graph with one file per package, its declarations as "kind name",
// and the calls.
func declared(packages map[string][]string, calls map[string]int) *codegraph.View {
	g := codegraph.New()
	var files []codegraph.File
	for pkg, list := range packages {
		f := codegraph.File{Path: pkg + "/" + pkg + ".go", Hash: pkg, Language: "go", Within: "package:example.com/" + pkg, Test: pkg == "tests"}
		for _, d := range list {
			var kind, name string
			_, _ = fmt.Sscan(d, &kind, &name)
			q := "example.com/" + pkg + "." + name
			f.Decls = append(f.Decls, codegraph.Decl{Kind: codegraph.Kind(kind), Name: name[lastDot(name):], Qualified: q, Parent: -1, Line: 1, End: 1, Exported: true})
		}
		files = append(files, f)
	}
	for name, n := range calls {
		for i := range n {
			files = append(files, codegraph.File{Path: fmt.Sprintf("use%s/u%d.go", name, i), Hash: fmt.Sprint(name, i), Language: "go",
				Decls: []codegraph.Decl{{Kind: codegraph.KindFunction, Name: "u", Qualified: fmt.Sprintf("example.com/use%s.u%d", name, i), Parent: -1, Line: 1, End: 1}},
				Uses:  []codegraph.Use{{From: 0, Kind: codegraph.Calls, Name: "example.com/" + name, Qualified: true, Line: 1}}})
		}
	}
	g.Apply(files, nil)
	return g.View()
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i + 1
		}
	}
	return 0
}

// A name says what it surely means, and nothing where it may mean anything.
func TestWhatNamesMean(t *testing.T) {
	v := declared(map[string][]string{
		"store": {"type Shelf", "method Shelf.View", "method Engine.Shelf", "function Open", "type Reader", "function Grab"},
		"cart":  {"type Basket", "method Basket.View", "function Reader", "method Page.Flip", "method Book.Flip", "method Song.Flip", "function Grab"},
		"depot": {"method Leaf.Flip", "function Weigh", "method Crane.Hoist", "function Grab", "type Layer"},
		"yard":  {"function Weigh", "function Scale", "function Grab", "function Hoister"},
		"tests": {"type Fake"},
	}, map[string]int{"depot.Grab": 20, "cart.Grab": 2})
	for _, tt := range []struct {
		symbols, entities, want []string
	}{
		{symbols: []string{"Shelf"}, want: []string{"store.Shelf 0.9"}},                            // and not the method of that name
		{symbols: []string{"*Shelf", "Shelf()"}, want: []string{"store.Shelf 0.9"}},                // once
		{symbols: []string{"store.Shelf"}, want: []string{"store.Shelf 1"}},                        // whole
		{symbols: []string{"Shelf::View"}, want: []string{"store.Shelf.View 1"}},                   // as other languages write it
		{symbols: []string{"Engine#Shelf"}, want: []string{"store.Engine.Shelf 1"}},                // likewise
		{symbols: []string{".Shelf"}, want: []string{"store.Engine.Shelf 0.7", "store.Shelf 0.7"}}, // a member, perhaps
		{symbols: []string{"Weigh"}, want: []string{"depot.Weigh 0.7", "yard.Weigh 0.7"}},
		{symbols: []string{"Flip"}},                                                   // four, none used more
		{symbols: []string{"Grab"}, want: []string{"depot.Grab 0.5"}},                 // four, one used far more
		{symbols: []string{"open", "shelf", "unknown", "x", ""}},                      // common, or not so spelled
		{symbols: []string{"Open"}, want: []string{"store.Open 0.9"}},                 // a common word with a capital, and one thing
		{symbols: []string{"Fake"}},                                                   // of tests
		{symbols: []string{"example.com/tests.Fake"}, want: []string{"tests.Fake 1"}}, // unless named fully
		{symbols: []string{"store/store.go", "/repo/cart/cart.go"}, want: []string{"store/store.go 1", "cart/cart.go 1"}},
		{symbols: []string{`yard\yard.go`}, want: []string{"yard/yard.go 1"}},
		{symbols: []string{"/elsewhere/cart/cart.go", "cart.go.orig"}},
		{entities: []string{"Basket"}, want: []string{"cart.Basket 0.4"}},
		{entities: []string{"Weigh", "Layer", "Hoist", "basket", "Baskets", "Basket Ball"}}, // several, common, no type, no name
		{symbols: []string{"Weigh", "store.Shelf"}, entities: []string{"Basket"}, want: []string{"store.Shelf 1", "depot.Weigh 0.7", "yard.Weigh 0.7", "cart.Basket 0.4"}},
	} {
		var got []string
		for _, s := range resolve(v, mentions(&ken.Signals{Symbols: tt.symbols, Entities: tt.entities}, "/repo"), 20) {
			got = append(got, fmt.Sprint(shortName(&s.Node), " ", s.confidence))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q %q: got %q, want %q", tt.symbols, tt.entities, got, tt.want)
		}
	}
	if got := resolve(v, mentions(&ken.Signals{Symbols: []string{"Weigh", "Shelf", "Grab"}}, ""), 2); len(got) != 2 || got[0].Name != "Shelf" {
		t.Errorf("the surest: %+v", got)
	}
}

// The names of a symbol are those under which a rule about it may have been filed.
func TestNamesOfSymbols(t *testing.T) {
	for id, want := range map[string][]string{
		"type:example.com/shop/store.Shelf":        {"store.Shelf", "example.com/shop/store.Shelf", "Shelf"},
		"method:example.com/shop/store.Shelf.View": {"store.Shelf.View", "example.com/shop/store.Shelf.View", "Shelf.View"},
		"function:example.com/shop/store.Open":     {"store.Open", "example.com/shop/store.Open"}, // a common word by itself
		"method:web/src/basket.Basket.total":       {"basket.Basket.total", "web/src/basket.Basket.total", "Basket.total"},
		"type:com.shop.Cart":                       {"com.shop.Cart", "Cart"},
	} {
		k, q, _ := codegraph.Split(id)
		n := codegraph.Node{ID: id, Kind: k, Qualified: q, Name: q[lastDot(q):], Path: "a/b.go", Language: "go"}
		if got := calledBy(&n); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	n := codegraph.Node{Kind: codegraph.KindMethod, Qualified: "example.com/shop/depot.Shelf.Put", Name: "Put", Path: "depot/shelf.go", Language: "go"}
	want := []string{"depot.Shelf", "example.com/shop/depot.Shelf", "Shelf", "depot/shelf.go", "depot", "example.com/shop/depot", "depot"}
	if got := enclosingNames(&n); !slices.Equal(got, want) {
		t.Errorf("around: got %q, want %q", got, want)
	}
}
