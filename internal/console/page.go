package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/chart"
)

type page struct {
	Slow    bool   // it is sent in two parts: see pageWithSlowPart
	Title   string // the window's title, and the heading unless the template has its own
	Section string // key of a section in the navigation
	Tab     string // key of a tab in the section
	Status  int    // HTTP status; 0 means 200
	// Live lists the topics whose changes make the page update its regions.
	Live []string
	Body any // available to the template as .Body
}

type framedPage struct {
	page
	Visit    visitInfo
	Refresh  bool   // a part is still being computed; the page reloads itself
	State    string // the state that the page shows; see topicWatcher.missedTopics
	Sections []section
	Did      string // what was just done, in a sentence
	DidTo    string // the claim that it was done to; "" if it is several or on the page
}

// visitInfo holds what every template may use of the visit.
type visitInfo struct {
	Name, Owner string
	Owners      []string // owners to choose from; nil if the key determines the owner
	Keyed       bool     // the visitor can log out
	Operate     bool     // buttons are shown
	Token       string   // form token
	Path        string   // this page with its query
	Query       string   // the search query
	Theme       string   // light, dark, or "" for the browser's preference
	Version     string
	Pending     pendingCounts
}

// page renders the whole page before it sends any of it, so that an error in a template gives
// an error page.
func (v *visit) page(name string, p page) error {
	body, err := v.render(name, p)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(max(p.Status, http.StatusOK))
	if v.r.Method != http.MethodHead {
		_, _ = v.w.Write(body) // fails if the visitor is gone
	}
	return nil
}

func (v *visit) render(name string, p page) ([]byte, error) {
	f := framedPage{page: p, Visit: v.visitInfo(), Sections: sectionsFor(v, p), Did: doneMessages[v.r.URL.Query().Get("did")], DidTo: v.r.URL.Query().Get("of")}
	f.Refresh = v.refresh && p.Status < http.StatusBadRequest // an error page is not fetched again
	if len(p.Live) > 0 {
		f.State = v.pageState()
	}
	t, err := templates.page(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "frame", f)
	return b.Bytes(), err
}

// visitInfo returns what templates may use of the visit.
func (v *visit) visitInfo() visitInfo {
	f := visitInfo{Name: v.principal.Name, Owner: v.principal.Owner, Keyed: v.loggedIn, Operate: v.canOperate(), Token: v.token, Path: v.r.URL.RequestURI(),
		Query: v.question(), Theme: theme(v.r), Version: v.con.opts.Version}
	if v.principal.Can(access.Read) {
		f.Pending = v.con.pendingFor(v)
		f.Owners = v.con.selectableOwners(v)
	}
	return f
}

// question returns the text of the search box: the query of the shown claims.
func (v *visit) question() string {
	if v.r.URL.Path != Prefix+"claims" {
		return ""
	}
	return v.r.URL.Query().Get("q")
}

// doneMessages maps the word in the address to the sentence that reports what a form did.
// A link cannot put its own text on the page that way.
var doneMessages = map[string]string{
	"verified":   "Verified, on your word.",
	"disputed":   "Disputed. No turn gets it any more.",
	"superseded": "Replaced. The old claim stays in the log, with a link to the new one.",
	"replaced":   "Corrected. The old claim is superseded by this one.",
	"archived":   "Put away.",
	"filed":      "Its kind was changed.",
	"approved":   "Approved.",
	"rejected":   "Rejected. It does not come back.",
	"edited":     "Edited and approved.",
	"decided":    "Decided.",
	"dismissed":  "Dismissed until something about it changes.",
	"retried":    "It runs again.",
	"nothing":    "Nothing was chosen, so nothing was changed.",
	"moved":      "The status was changed.",
	"ended":      "Ended. It is harvested now.",
	"harvested":  "Harvested again.",
	"forgotten":  "Forgotten.",
	"described":  "Described, on your word.",
	"renamed":    "Renamed. The old name keeps working.",
	"merged":     "Merged. The claims of both are here.",
	"named":      "The name was added.",
	"split":      "Split off. The name is an entity of its own again.",
	"ruled":      "Added as a rule.",
	"linked":     "The dependency was added.",
	"unlinked":   "The dependency was removed. Its history stays.",
	"written":    "Written, on your word.",
	"cleaned":    "Written, on your word, without what looked like a secret, a model's reasoning or a control character.",
	"known":      "This was known already. It is the claim below.",
	"restored":   "Restored: what it said is a claim again, on your word.",
	"put":        "Written into the project.",
	"tested":     "Saved as a memory test. Run it with ken eval test .ken/memory-tests.yaml.",
	"succeeded":  "Superseded: both files say so.",
	"shelved":    "Moved into the archive, with the links that lead to it.",
	"done":       "Done.",
	"added":      "Added.",
	"changed":    "Changed.",
	"revoked":    "Revoked. The next request with it is refused.",
}

type section struct {
	Name, Path string
	Key        string // keyboard shortcut, after g
	Here       bool
	Count      int
	Tabs       []tab
}

type tab struct {
	Name, Path string
	Here       bool
	Count      int
	right      access.Right // the right required to see the tab; "" means read
	own        bool         // also shown to a visitor with turns of their own
}

// Keys of the sections.
const (
	secHome      = "Overview"
	secStore     = "Store"
	secTurns     = "Turns"
	secReview    = "Review"
	secStructure = "Structure"
	secHealth    = "Health"
)

func sectionsFor(v *visit, p page) []section {
	if !v.principal.Can(access.Read) {
		return nil
	}
	n := v.con.pendingFor(v)
	all := []section{
		{Name: secHome, Path: Prefix, Key: "o"},
		{Name: secStore, Path: Prefix + "claims", Key: "s", Tabs: []tab{
			{Name: "Claims", Path: Prefix + "claims"},
			{Name: "Sessions", Path: Prefix + "sessions", right: access.Operate, own: true},
			{Name: "Agents", Path: Prefix + "agents"},
			{Name: "Changes", Path: Prefix + "changes"},
			{Name: "Files", Path: Prefix + "files"},
		}},
		{Name: secTurns, Path: Prefix + "turns", Key: "t", Tabs: []tab{
			{Name: "Live", Path: Prefix + "turns"},
			{Name: "Try a message", Path: Prefix + "try"},
		}},
		{Name: secReview, Path: Prefix + "review", Key: "r", Count: n.Review + n.Attention - n.Both, Tabs: []tab{
			{Name: "Candidates", Path: Prefix + "review", Count: n.Review},
			{Name: "Attention", Path: Prefix + "attention", Count: n.Attention},
		}},
		{Name: secStructure, Path: Prefix + "entities", Key: "e", Tabs: []tab{
			{Name: "Entities", Path: Prefix + "entities"},
			{Name: "Code", Path: Prefix + "code"},
			{Name: "Decisions", Path: Prefix + "decisions"},
			{Name: "Objectives", Path: Prefix + "objectives"},
			{Name: "Drift", Path: Prefix + "drift"},
		}},
		{Name: secHealth, Path: Prefix + "health", Key: "h", Tabs: []tab{
			{Name: "Now and lately", Path: Prefix + "health"},
			{Name: "Jobs", Path: Prefix + "jobs", Count: n.Dead, right: access.Operate},
			{Name: "Recall sweeps", Path: Prefix + "sweeps"},
			{Name: "Keys", Path: Prefix + "keys"},
		}},
	}
	if v.seesNodes() {
		health := &all[len(all)-1]
		health.Tabs = append(health.Tabs, tab{Name: "Nodes", Path: Prefix + "nodes"})
	}
	for i := range all {
		s := &all[i]
		s.Here = s.Name == p.Section
		tabs := s.Tabs[:0]
		for _, t := range s.Tabs {
			if t.right == "" || v.principal.Can(t.right) || t.own && v.hasOwnTurns() {
				t.Here = s.Here && t.Name == p.Tab
				tabs = append(tabs, t)
			}
		}
		s.Tabs = tabs
	}
	return all
}

//go:embed pages/*.html parts/*.html
var files embed.FS

// templates holds the templates, parsed at first use, so that a process without visitors does
// not parse them.
var templates = templateCache{pages: map[string]*template.Template{}}

// templateCache parses templates at first use. It is safe for concurrent use.
type templateCache struct {
	mu    sync.Mutex
	parts *template.Template // the frame and shared parts
	pages map[string]*template.Template
}

// page returns the template of a page, with the frame and the shared parts.
func (l *templateCache) page(name string) (*template.Template, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.pages[name]; t != nil {
		return t, nil
	}
	if l.parts == nil {
		parts, err := template.New("parts").Funcs(funcs).ParseFS(files, "parts/*.html")
		if err != nil {
			return nil, fmt.Errorf("parse the parts of pages: %w", err)
		}
		l.parts = parts
	}
	t, err := l.parts.Clone()
	if err == nil {
		t, err = t.ParseFS(files, "pages/"+name+".html")
	}
	if err != nil {
		return nil, fmt.Errorf("parse page %s: %w", name, err)
	}
	l.pages[name] = t
	return t, nil
}

// pageWithSlowPart shows a page with one slow part. It sends what comes before that part at
// once, and the part when it is ready. The page's template puts .Body.Later where the part
// goes; fill returns the part's template and data. An error of fill is shown in place of the
// part, because the response has begun.
func (v *visit) pageWithSlowPart(name string, p page, body map[string]any, fill func() (part string, data any, err error)) error {
	mark := randomToken()
	hole := []byte("<!--" + hex.EncodeToString(mark[:]) + "-->")
	body["Later"] = template.HTML(hole) // only hexadecimal digits
	p.Body, p.Slow = body, true
	whole, err := v.render(name, p)
	if err != nil {
		return err
	}
	before, after, ok := bytes.Cut(whole, hole)
	if !ok {
		return errors.New("page " + name + " has no place for its slow part")
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(max(p.Status, http.StatusOK))
	if v.r.Method == http.MethodHead {
		return nil
	}
	_, _ = v.w.Write(before) // fails if the visitor is gone
	_ = http.NewResponseController(v.w).Flush()
	_, _ = v.w.Write(v.renderPart(name, fill))
	_, _ = v.w.Write(after)
	return nil
}

// renderPart renders the slow part of a page, or its error.
func (v *visit) renderPart(name string, fill func() (string, any, error)) []byte {
	part, data, err := fill()
	if err == nil {
		var b bytes.Buffer
		var t *template.Template
		if t, err = templates.page(name); err == nil {
			if err = t.ExecuteTemplate(&b, part, map[string]any{"Visit": v.visitInfo(), "Body": data}); err == nil {
				return b.Bytes()
			}
		}
	}
	p := errorPageOf(err)
	if p.Status >= http.StatusInternalServerError && v.ctx().Err() == nil {
		v.con.opts.Log.Error("a part of a page failed", "page", name, "cause", err, "try", ken.Hint(err))
	}
	return []byte(`<div class="note danger" role="alert"><p>` + template.HTMLEscapeString(p.Msg) + `</p><p>` + template.HTMLEscapeString(p.Try) + `</p></div>`)
}

//go:embed assets/*
var assetFiles embed.FS

// assetTypes maps file extensions of assets to content types.
var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets returns every asset with its hash. The hash is part of the path, so a browser may
// cache a file forever and loads it again when it changes.
var assets = sync.OnceValue(func() map[string]bundled {
	out := map[string]bundled{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // can't fail: the files are embedded
	}
	for _, e := range entries {
		b, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		if e.Name() == "console.css" {
			b = append(b, chart.CSS...)
		}
		sum := sha256.Sum256(b)
		out[e.Name()] = bundled{b, hex.EncodeToString(sum[:6])}
	}
	return out
})

type bundled struct {
	bytes []byte
	hash  string
}

func assetPath(name string) string { return Prefix + "assets/" + assets()[name].hash + "/" + name }

func asset(v *visit) error {
	name := v.r.PathValue("name")
	a, ok := assets()[name]
	kind := assetTypes[name[max(strings.LastIndexByte(name, '.'), 0):]]
	if !ok || kind == "" {
		return errNoPage
	}
	h := v.w.Header()
	h.Set("Content-Type", kind)
	if v.r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(v.w, v.r, "", time.Time{}, bytes.NewReader(a.bytes))
	return nil
}
