package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// postID is a method of the furnished project, and its page.
const (
	postID   = "method:example.com/payments/ledger.Ledger.Post"
	postPath = "/console/code/symbol?id=method%3Aexample.com%2Fpayments%2Fledger.Ledger.Post"
)

func symbolAt(id string) string { return "/console/code/symbol?id=" + url.QueryEscape(id) }

// readCode reads the project's code, as a server does behind its pages.
func (c *rig) readCode() *rig {
	c.Helper()
	if _, err := c.layer.Operator().ReadCode(c.Context()); err != nil {
		c.Fatal(err)
	}
	return c
}

// Pages do not wait for the code to be read, and read nothing themselves.
func TestCodeIsNotWaitedFor(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/code")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("The code is being read.")
	status, p = get(t, c, postPath)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("The code is being read.")
	if n := c.layer.Operator().Codebase().View().Counts().Nodes; n > 0 {
		t.Errorf("a page has read %d nodes", n)
	}
	c.readCode()
	_, p = get(t, c, "/console/code")
	if p.text(); p.has(`[data-region="code-reading"] p`) {
		t.Errorf("it was read: %s", p.text())
	}
	p.says("every file was read whole", "What most of the code depends on")
}

func TestCodeIsFound(t *testing.T) {
	c := open(t).readCode()
	for query, want := range map[string][]string{
		"q=Post&kind=method":                        {"ledger.Ledger.Post"},
		"q=backoff&kind=function&path=retry":        {"retry.Backoff"},
		"q=backoff&kind=function&path=handler":      nil,
		"q=Backoff&kind=function&tests=no":          {"retry.Backoff"},
		"q=Ledger&exported=yes&kind=type":           {"ledger.Ledger"},
		"q=Post&kind=file":                          {"ledger/post.go"},
		"q=retry&kind=package":                      {"example.com/payments/retry"},
		"q=zzzzqqqq":                                nil,
		"q=Post&kind=spaceship&path=*.go&before=-4": {"ledger.Ledger.Post"},
	} {
		_, p := get(t, c, "/console/code?"+query)
		have := p.texts("article h2 a")
		if len(want) == 0 && (len(have) > 0 || !p.has(".empty")) || len(want) > 0 && (len(have) == 0 || have[0] != want[0]) {
			t.Errorf("%s finds %q, want %q", query, have, want)
		}
	}
	_, p := get(t, c, "/console/code?q=test&tests=no")
	if slices.ContainsFunc(p.texts("article"), func(s string) bool { return strings.Contains(s, "only in tests") }) {
		t.Errorf("what only tests declare: %q", p.texts("article"))
	}
	_, p = get(t, c, "/console/code?q=Post")
	if !p.links("/console/code/symbol?id=method%3aexample.com%2fpayments%2fledger.Ledger.Post") {
		t.Errorf("no link to what was found: %s", p.body)
	}
}

func TestSymbolPageTellsAll(t *testing.T) {
	c := open(t).readCode()
	c.learn("", "Post is called twice for a refund.", func(k *ken.Claim) { k.Entities = []string{"ledger.Ledger.Post"} })
	c.learn("", "Entries of Ledger.Post are final.", func(k *ken.Claim) { k.Entities = []string{"Ledger.Post"} })
	c.learn(consoletest.Bob, "Bob's Ledger.Post is his own.", func(k *ken.Claim) { k.Entities = []string{"Ledger.Post"} })
	status, p := get(t, c, postPath)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("Post writes both entries of a transfer in one transaction.", postID, "ledger/post.go line 10", "func (l *Ledger) Post(t Transfer) error {",
		"if Balance(l, t.From) < t.Cents {", "calls it", "1 step away", "ADR-0001", "Keep the books in double entry", "Post is called twice for a refund.", "Entries of Ledger.Post are final.")
	p.hides("his own")
	for _, path := range []string{"/console/files?path=ledger%2fpost.go", "/console/decisions/ADR-0001"} {
		if !p.links(path) {
			t.Errorf("no link to %s", path)
		}
	}
	if !slices.ContainsFunc(p.all(".drawn-graph svg a"), func(n *html.Node) bool { return strings.HasPrefix(attr(n, "href"), "/console/code/symbol?id=") }) || !p.has(".chart-list a") {
		t.Error("the picture can't be walked")
	}
	all := p.texts("#refs tbody tr")
	_, p = get(t, c, postPath+"&kind=calls")
	if calls := p.texts("#refs tbody tr"); len(calls) == 0 || slices.ContainsFunc(calls, func(s string) bool { return !strings.Contains(s, "calls it") }) {
		t.Errorf("of %q, those that call it: %q", all, calls)
	}
	for id, want := range map[string]string{
		"package:example.com/payments/ledger":     "Depends on",
		"file:ledger/post.go":                     "Post",
		"adr:ADR-0001":                            "Keep the books in double entry",
		"type:example.com/payments/ledger.Ledger": "Declares",
	} {
		if status, p := get(t, c, symbolAt(id)); status != http.StatusOK || !strings.Contains(p.text(), want) {
			t.Errorf("%s: %d, without %q: %s", id, status, want, p.text())
		}
	}
}

// Lines of a file are shown for the graph only as long as the file has not changed.
func TestLinesOfAChangedFile(t *testing.T) {
	c := open(t).readCode()
	c.write("ledger/post.go", "package ledger\n\n\n\n\n\n\n\n\nvar secretOfTheNewFile = 1\n")
	_, p := get(t, c, postPath)
	p.says("The file has changed since it was read")
	p.hides("secretOfTheNewFile")
}

// Credentials stay in the file.
func TestLinesWithoutCredentials(t *testing.T) {
	c := open(t, with(map[string]string{"ledger/key.go": "package ledger\n\nfunc Key() string {\n\treturn \"" + "gh" + "p_x7Kq29LmZp04TrVwYs81NcBd63HfJg5Ea2Qu" + "\"\n}\n",
		"ledger/long.go": "package ledger\n\nfunc Long() {\n" + strings.Repeat("\tprintln(1)\n", 100) + "\tprintln(\"" + strings.Repeat("w", 5000) + "\")\n}\n"})).readCode()
	_, p := get(t, c, symbolAt("function:example.com/payments/ledger.Key"))
	p.says("func Key() string {")
	p.hides("x7Kq29LmZp04")
	_, p = get(t, c, symbolAt("function:example.com/payments/ledger.Long"))
	p.says("more lines")
	p.hides(strings.Repeat("w", 1000))
}

func TestNoSuchSymbol(t *testing.T) {
	c := open(t, with(map[string]string{"ledger/bad.go": "package ledger\n\nfunc (((\n", "docs/<b>x.py": "class <script>:\n"})).readCode()
	if status, p := get(t, c, symbolAt("function:nowhere.Nothing")); status != http.StatusNotFound {
		t.Errorf("%d %s", status, p.text())
	}
	if status, p := get(t, c, "/console/code/symbol"); status != http.StatusNotFound && status != http.StatusBadRequest {
		t.Errorf("no id: %d %s", status, p.text())
	}
	if status, p := get(t, c, symbolAt("New")); status != http.StatusSeeOther || p.location != "/console/code?q=New" {
		t.Errorf("one of several: %d to %q", status, p.location)
	}
	_, p := get(t, c, "/console/code")
	p.says("Could not be read", "ledger/bad.go")
	p.hides("<script>:", "<b>x")
}

// Only the project's owner sees the files.
func TestCodeIsTheOwners(t *testing.T) {
	c := open(t).readCode()
	for _, path := range []string{"/console/code", "/console/code?q=Post", postPath, symbolAt("function:nowhere.Nothing")} {
		status, p := get(t, c, path, bob)
		if status != http.StatusForbidden {
			t.Errorf("%s gives bob %d: %s", path, status, p.text())
		}
		p.hides("writes both entries", "post.go", consoletest.OwnWord)
	}
	if status, p := get(t, c, postPath, reader); status != http.StatusOK || !strings.Contains(p.text(), "writes both entries") {
		t.Errorf("who may read the owner's: %d", status)
	}
}

func TestCodeSwitchedOff(t *testing.T) {
	c := open(t, func(s *setup) { s.config = config.Default(); s.config.Middleware.Graph = false })
	status, p := get(t, c, "/console/code")
	if status != http.StatusServiceUnavailable {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("middleware.graph")
}

func TestNoCode(t *testing.T) {
	c := open(t, bare).readCode()
	_, p := get(t, c, "/console/code")
	p.says("There is no code in this project.")
}

// The page's event stream says when the code was read.
func TestStreamTellsOfCode(t *testing.T) {
	c := open(t)
	said, _, _ := listen(t, c, "code", operator)
	hears(t, said, "ready")
	c.readCode()
	c.write("ledger/audit.go", "package ledger\n\nfunc Audit() {}\n")
	if _, err := c.layer.Operator().Codebase().Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	hears(t, said, "code")
	_, p := get(t, c, "/console/code?q=Audit")
	p.says("ledger.Audit")
}
