package console_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/console/consoletest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if model != "" {
			_ = os.RemoveAll(model) // it is in the folder for temporary files
		}
		os.Exit(code)
	}))
}

// now is the time in every test, for the layer as for the console.
var now = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// Who asks in tests: two who see the knowledge of the project's owner, and one who may do
// everything with the knowledge of another.
var (
	operator = access.Principal{Name: "ana", Owner: ken.DefaultOwner, Rights: access.Rights()}
	reader   = access.Principal{Name: "rita", Owner: ken.DefaultOwner, Rights: []access.Right{access.Read}}
	bob      = access.Principal{Name: "bob", Owner: consoletest.Bob, Rights: access.Rights()}
	nobody   = access.Principal{}
)

// rig is a console over a separate project.
type rig struct {
	testing.TB
	con     *console.Console
	layer   *middleware.Layer
	project consoletest.Project // its content; without names if it was opened bare
}

// setup is what a test may change before the rig is there.
type setup struct {
	raced   bool // the race detector has something to find in it
	bare    bool
	files   map[string]string // to be written into the project first, by path from its root
	layer   middleware.Options
	config  config.Config
	console console.Options
}

// raced is for tests in which something goes on beside the page. make whole runs the
// others. A handler that runs alone has no races, and TestPagesOfNavigation requests
// every page.
func raced(s *setup) { s.raced = true }

// bare has the rig begin with an empty project, in place of the furnished one.
func bare(s *setup) { s.bare = true }

// with has files in the project before anything reads it.
func with(files map[string]string) func(*setup) { return func(s *setup) { s.files = files } }

// furnished makes the project that tests copy, once; package consoletest describes its content.
var furnished = sync.OnceValues(func() (consoletest.Project, error) {
	dir, err := os.MkdirTemp("", "console")
	if err != nil {
		return consoletest.Project{}, err
	}
	model = dir
	return consoletest.Furnish(context.Background(), filepath.Join(dir, "project"), consoletest.Options{Now: now, Seed: 1})
})

var model string // where furnished is; "" before

// open returns a console over a copy of the furnished project, with nothing going on
// behind it but what the console itself begins.
func open(t testing.TB, change ...func(*setup)) *rig {
	t.Helper()
	dir := t.TempDir()
	s := setup{console: console.Options{Now: clock, Version: "test", Tick: 10 * time.Millisecond, Patience: 30 * time.Second, Log: slog.New(slog.DiscardHandler)}, config: config.Default(),
		layer: middleware.Options{Root: dir, Foreground: true, Strict: true, Now: clock, Log: slog.New(slog.DiscardHandler)}}
	for _, f := range change {
		f(&s)
	}
	if !s.raced {
		race.SkipLong(t)
	}
	r := &rig{TB: t, project: consoletest.Project{Dir: dir}}
	if !s.bare {
		p, err := furnished()
		if err != nil {
			t.Fatalf("furnish: %v", err)
		}
		if err := os.CopyFS(dir, os.DirFS(p.Dir)); err != nil {
			t.Fatalf("copy the furnished project: %v", err)
		}
		if err := trust.Adopt(dir, filepath.Join(dir, ".ken", "state")); err != nil {
			t.Fatalf("trust the copy: %v", err)
		}
		r.project, r.project.Dir = p, dir
	}
	for path, text := range s.files {
		r.write(path, text)
	}
	s.config.Middleware.Events = false
	s.layer.Config = &s.config
	l, err := middleware.Open(context.Background(), s.layer)
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	r.layer, r.con = l, console.New(l, s.console)
	t.Cleanup(func() {
		if err := errors.Join(r.con.Close(), l.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func clock() time.Time { return now }

// get asks for a page, for the operator unless who says otherwise.
func get(t testing.TB, c *rig, path string, who ...access.Principal) (status int, p *page) {
	t.Helper()
	return c.send(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), who)
}

// post sends a form with a good token. Redirects are not followed: see page.location.
func post(t testing.TB, c *rig, path string, form url.Values, who ...access.Principal) (status int, p *page) {
	t.Helper()
	sent := url.Values{"token": {console.TokenOf(c.con)}}
	maps.Copy(sent, form)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(sent.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.send(t, r, who)
}

// submit fills in a form of a page and sends it as a browser does: with all its fields,
// after values has replaced some.
func submit(t testing.TB, c *rig, p *page, form string, values map[string]string, who ...access.Principal) (status int, answer *page) {
	t.Helper()
	f := p.one(form)
	sent := fieldsOf(f)
	for name, value := range values {
		if !p.has(form + ` [name="` + name + `"]`) {
			t.Fatalf("form %s has no field %q", form, name)
		}
		sent.Set(name, value)
	}
	if attr(f, "method") != "post" {
		return get(t, c, attr(f, "action")+"?"+sent.Encode(), who...)
	}
	return post(t, c, attr(f, "action"), sent, who...)
}

func (c *rig) send(t testing.TB, r *http.Request, who []access.Principal) (int, *page) {
	t.Helper()
	asks := operator
	if len(who) > 0 {
		asks = who[0]
	}
	if asks.Name != "" {
		r = r.WithContext(access.With(r.Context(), asks))
	}
	w := httptest.NewRecorder()
	c.con.ServeHTTP(w, r)
	p := read(t, r, w)
	p.check()
	return w.Code, p
}

// store runs fn on an owner's store.
func (c *rig) store(owner string, fn func(s store.Engine) error) {
	c.Helper()
	s, release, err := c.layer.Store(context.Background(), owner)
	if err != nil {
		c.Fatalf("open store: %v", err)
	}
	defer release()
	if err := fn(s); err != nil {
		c.Fatal(err)
	}
}

// learn writes an observed fact for an owner and returns its id. change may make it
// anything else.
func (c *rig) learn(owner, text string, change ...func(*ken.Claim)) (id string) {
	c.Helper()
	k := ken.Claim{Kind: ken.KindFact, Status: ken.StatusObserved, Text: text, Confidence: 0.9, Importance: 0.5, Evidence: []ken.Evidence{ken.FromToolResult("call", "")}}
	for _, f := range change {
		f(&k)
	}
	c.store(owner, func(s store.Engine) (err error) {
		id, err = s.WriteClaim(context.Background(), k)
		return err
	})
	return id
}

// write puts a file into the project, by its path from the root.
func (c *rig) write(path, text string) {
	c.Helper()
	to := filepath.Join(c.project.Dir, filepath.FromSlash(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
		c.Fatal(err)
	}
}

// file is what a file of the project says, "" for none.
func (c *rig) file(path string) string {
	c.Helper()
	b, err := os.ReadFile(filepath.Join(c.project.Dir, filepath.FromSlash(path)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Fatal(err)
	}
	return string(b)
}

// eventually asks until something is so: for what the console does behind its pages.
func (c *rig) eventually(what string, so func() bool) {
	c.Helper()
	for tick, end := time.NewTicker(5*time.Millisecond), time.After(30*time.Second); !so(); {
		select {
		case <-tick.C:
		case <-end:
			c.Fatalf("it never happens that %s", what)
		}
	}
}

// everyPage is the address of each page that can be looked at, in the rig's project.
func (c *rig) everyPage() []string {
	p := c.project
	out := []string{"", "claims", "sessions", "agents", "changes", "files", "turns", "try", "review", "attention", "entities", "tasks", "code", "decisions",
		"objectives", "drift", "health", "jobs", "sweeps", "keys"}
	if p.Claims != nil {
		turn := p.Turns["today 2"]
		out = append(out, "claims?q=ledger&kind=fact", "claims/"+p.Claims["wrong fact"], "claims/"+p.Claims["hostile script"]+"/forget", "claims/new",
			"sessions/"+p.Sessions["today"], "agents/"+url.PathEscape(p.Agents[0]), "files?path="+url.QueryEscape(p.Files[0]), "turns/"+turn,
			"turns/"+turn+"/replay", "turns/"+turn+"/whatif", "try?text=how+does+the+ledger+retry", "entities/"+url.PathEscape(p.Entities[0]),
			"decisions/"+p.Decisions[0], "objectives/"+p.Objectives[0], "attention?all=1")
	}
	return out
}

// Every page works, for an operator of the furnished project and of an empty one, while
// another visitor requests pages and agents work.
func TestPagesOfNavigation(t *testing.T) {
	for name, c := range map[string]*rig{"furnished": open(t, raced), "empty": open(t, raced, bare)} {
		var all sync.WaitGroup
		all.Go(func() {
			for range 5 {
				c.learn(operator.Owner, "While somebody looks.")
			}
		})
		for _, who := range []access.Principal{operator, {Name: "second", Owner: operator.Owner, Rights: access.Rights()}} {
			all.Go(func() {
				for _, path := range c.everyPage() {
					if status, p := get(t, c, "/console/"+path, who); status != http.StatusOK {
						t.Errorf("%s, %s: %d: %s", path, name, status, p.text())
					}
				}
			})
		}
		all.Wait()
	}
}
