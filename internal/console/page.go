package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// page is what a handler wants to be shown.
type page struct {
	Title   string // of the window, and of its heading unless the template has its own
	Section string // of the navigation, as in sections
	Tab     string // within the section
	Status  int    // 0 is 200
	// Live names what the page follows, of the words in topics; its regions are replaced
	// when that changes.
	Live []string
	Body any // what the template gets as .Body
}

// framed is a page with what surrounds it.
type framed struct {
	page
	Visit    frame
	Again    bool   // something is still being found out
	Moment   string // that the page is of; see watch.missed
	Sections []section
	Did      string // what was just done, in a sentence
}

// frame is what every template may ask about the visit.
type frame struct {
	Name, Owner string
	Owners      []string // that can be chosen among; nil where the key says whose
	Keyed       bool     // can log out
	Operate     bool     // buttons are shown
	Token       string   // of forms
	Path        string   // of this page, with its query
	Query       string   // of the search
	Theme       string   // light, dark, or "" for what the browser prefers
	Version     string
	Tally       tally
}

// page renders a page whole before it sends any of it, so that a template that fails
// is an error and not half a page.
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
		_, _ = v.w.Write(body) // the visitor is gone, if it fails
	}
	return nil
}

// render is the page with what surrounds it.
func (v *visit) render(name string, p page) ([]byte, error) {
	f := framed{page: p, Visit: v.frame(), Sections: sectionsFor(v, p), Did: doings[v.r.URL.Query().Get("did")]}
	f.Again = v.again
	if len(p.Live) > 0 {
		f.Moment = v.moment()
	}
	t, err := templates.page(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "frame", f)
	return b.Bytes(), err
}

// frame is what templates may ask about the visit.
func (v *visit) frame() frame {
	f := frame{Name: v.who.Name, Owner: v.who.Owner, Keyed: v.keyed, Operate: v.operates(), Token: v.token, Path: v.r.URL.RequestURI(),
		Query: v.question(), Theme: theme(v.r), Version: v.con.o.Version}
	if v.who.Can(access.Read) {
		f.Tally = v.con.tally(v)
		f.Owners = v.con.ownersFor(v)
	}
	return f
}

// question is what the search box says: the question of the claims that are shown.
func (v *visit) question() string {
	if v.r.URL.Path != Prefix+"claims" {
		return ""
	}
	return v.r.URL.Query().Get("q")
}

// doings are the sentences of what a form did, by the word that the address has, so
// that a link can't put words into the page's mouth.
var doings = map[string]string{
	"verified":   "Verified, on your word.",
	"disputed":   "Disputed. No turn gets it any more.",
	"superseded": "Replaced. The old claim stays in the log, with a link to the new one.",
	"replaced":   "Corrected. The old claim is superseded by this one.",
	"archived":   "Put away.",
	"approved":   "Approved.",
	"rejected":   "Rejected. It does not come back.",
	"edited":     "Edited and approved.",
	"decided":    "Decided.",
	"dismissed":  "Dismissed until something about it changes.",
	"retried":    "It runs again.",
	"nothing":    "Nothing was chosen, so nothing was changed.",
	"moved":      "The status was changed.",
	"recorded":   "Recorded.",
	"ended":      "Ended. It is harvested now.",
	"harvested":  "Harvested again.",
	"forgotten":  "Forgotten.",
	"described":  "Described, on your word.",
	"renamed":    "Renamed. The old name keeps working.",
	"merged":     "Merged. All that is known of either is here.",
	"named":      "It goes by that name, too.",
	"split":      "Split off. The name stands for itself again.",
	"ruled":      "Added as a rule.",
	"linked":     "The dependency was added.",
	"unlinked":   "The dependency was taken out. Its history stays.",
	"written":    "Written, on your word.",
	"restored":   "Restored: what it said is a claim again, on your word.",
	"put":        "Written into the project.",
	"succeeded":  "Superseded: both files say so.",
	"shelved":    "Moved into the archive, with the links that lead to it.",
	"done":       "Done.",
	"added":      "Added.",
	"changed":    "Changed.",
	"revoked":    "Revoked. The next request with it is refused.",
}

// section is an entry of the navigation.
type section struct {
	Name, Path string
	Key        string // that goes there, after g
	Here       bool
	Count      int
	Tabs       []tab
}

// tab is a page of a section.
type tab struct {
	Name, Path string
	Here       bool
	Count      int
	right      access.Right // to be shown at all; "" is read
}

// Names of sections.
const (
	secHome      = "Overview"
	secStore     = "Store"
	secTurns     = "Turns"
	secReview    = "Review"
	secStructure = "Structure"
	secHealth    = "Health"
)

// sectionsFor is the navigation as the visitor sees it.
func sectionsFor(v *visit, p page) []section {
	if !v.who.Can(access.Read) {
		return nil
	}
	n := v.con.tally(v)
	all := []section{
		{Name: secHome, Path: Prefix, Key: "o"},
		{Name: secStore, Path: Prefix + "claims", Key: "s", Tabs: []tab{
			{Name: "Claims", Path: Prefix + "claims"},
			{Name: "Sessions", Path: Prefix + "sessions", right: access.Operate},
			{Name: "Agents", Path: Prefix + "agents"},
			{Name: "Changes", Path: Prefix + "changes"},
			{Name: "Files", Path: Prefix + "files"},
		}},
		{Name: secTurns, Path: Prefix + "turns", Key: "t", Tabs: []tab{
			{Name: "Live", Path: Prefix + "turns"},
			{Name: "Try a message", Path: Prefix + "try"},
		}},
		{Name: secReview, Path: Prefix + "review", Key: "r", Count: n.Review + n.Attention, Tabs: []tab{
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
	for i := range all {
		s := &all[i]
		s.Here = s.Name == p.Section
		tabs := s.Tabs[:0]
		for _, t := range s.Tabs {
			if t.right == "" || v.who.Can(t.right) {
				t.Here = s.Here && t.Name == p.Tab
				tabs = append(tabs, t)
			}
		}
		s.Tabs = tabs
	}
	return all
}

// notHere is a path that leads nowhere.
var notHere error = &ken.Error{Code: ken.CodeNotFound, Msg: "there is no such page", Try: "Begin at the overview."}

type problemPage struct {
	Status   int
	Msg, Try string
	Back     string // where the visitor came from; "" when that is not known
}

// fail shows an error as a page. What a person can't act on is for the log.
func (v *visit) fail(err error) {
	if errors.Is(err, errLogin) && v.con.ring.Load() != nil {
		path := LoginPath
		if v.r.Method == http.MethodGet && ownPath(v.r.URL.RequestURI()) != Prefix {
			path += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
		}
		http.Redirect(v.w, v.r, path, http.StatusSeeOther)
		return
	}
	if v.ctx().Err() != nil { // nobody is there to be told
		return
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		v.con.o.Log.Error("a page failed", "page", v.r.Pattern, "cause", err, "try", ken.Hint(err))
	}
	if u, err := url.Parse(v.r.Referer()); err == nil && u.Host == v.r.Host {
		p.Back = ownPath(u.RequestURI())
	}
	if err := v.page("problem", page{Title: http.StatusText(p.Status), Status: p.Status, Body: p}); err != nil {
		v.con.o.Log.Error("a page failed", "page", "problem", "cause", err)
		http.Error(v.w, "The page failed; the log of ken serve says why.", http.StatusInternalServerError)
	}
}

// statuses are what the codes of errors are for a browser.
var statuses = map[ken.Code]int{ken.CodeInvalid: http.StatusBadRequest, ken.CodeNotFound: http.StatusNotFound, ken.CodeRefused: http.StatusForbidden,
	ken.CodeExists: http.StatusConflict, ken.CodeUnavailable: http.StatusServiceUnavailable, ken.CodeHeld: http.StatusServiceUnavailable}

func problemOf(err error) problemPage {
	p := problemPage{Status: http.StatusInternalServerError, Msg: "the page failed", Try: "Look at the log of ken serve."}
	var e *ken.Error
	if !errors.As(err, &e) {
		return p
	}
	if s, ok := statuses[e.Code]; ok {
		p = problemPage{Status: s, Msg: e.Msg, Try: e.Try}
		if e.Field != "" {
			p.Msg = e.Field + ": " + e.Msg
		}
	} else if e.Try != "" {
		p.Try = e.Try
	}
	return p
}

// row is a claim as a line of a list.
type row struct {
	ID, Kind, Status string
	Tone             ken.Tone
	Tier             string
	Heading, Text    string
	Says             string // the line that says where it stands
	Entities         []string
	Constraint       bool
	When             any // a time in words
	Seen             int // times it was seen
	Session          string
	Expired, Put     bool // its time is over; it was put away
	Confidence       float64
	Evidence         int // pieces
}

// rowOf shows a claim as it stands at a moment.
func rowOf(c *middleware.ClaimView, now time.Time) row {
	_, tone := c.Severity()
	return row{ID: c.ID, Kind: string(c.Kind), Status: string(c.Status), Tone: tone, Tier: c.Tier.String(), Heading: c.Heading, Text: c.Text,
		Says: standing(&c.Claim, now), Entities: c.Entities, Constraint: c.Constraint, When: ago(now, c.UpdatedAt), Seen: c.Reinforcements + 1,
		Session: c.Session, Expired: c.Expired(now), Put: !c.ArchivedAt.IsZero(), Confidence: c.Confidence, Evidence: len(c.Evidence)}
}

// standing says in a line why a claim stands where it does: "confidence 0.9 · from
// tool_result", "2 conflicting evidence refs", "by ana · 2026-05-20".
func standing(c *ken.Claim, now time.Time) string {
	var parts []string
	switch c.Status {
	case ken.StatusVerified:
		if e := voucher(c); e != nil {
			parts = append(parts, "by "+e.ID, e.FetchedAt.UTC().Format(time.DateOnly))
		}
	case ken.StatusDisputed:
		parts = append(parts, plural(len(c.Evidence), "conflicting evidence ref", "conflicting evidence refs"))
	case ken.StatusSuperseded:
		parts = append(parts, "by "+shortID(c.SupersededBy))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("confidence %.1f", c.Confidence))
		if len(c.Evidence) > 0 {
			parts = append(parts, "from "+string(c.Evidence[0].Kind))
		}
	}
	if c.Expired(now) {
		parts = append(parts, "expired "+c.ExpiresAt.UTC().Format(time.DateOnly))
	}
	return strings.Join(parts, " · ")
}

// voucher is the last piece of evidence by which a person verified a claim; nil for none.
func voucher(c *ken.Claim) *ken.Evidence {
	for i := len(c.Evidence) - 1; i >= 0; i-- {
		if e := &c.Evidence[i]; e.Kind == ken.EvidenceHumanAssertion && e.ID != "" {
			return e
		}
	}
	return nil
}

// Most code points of a text that a page shows: of a whole one, and of a line in a
// list. What is longer is cut, and says so.
const (
	mostText = 20_000
	mostLine = 280
)

// shown writes a text that anybody may have written, cut to most code points: escaped,
// isolated from the direction of what surrounds it, and with what can't be seen but
// changes what is seen made visible.
func shown(s string, most int) template.HTML {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString("<bdi>")
	n, from := 0, 0
	flush := func(to int) { template.HTMLEscape(&b, []byte(s[from:to])) }
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n == most {
			flush(i)
			fmt.Fprintf(&b, `</bdi><span class="cut-off" title="%d more characters">…</span>`, utf8.RuneCountInString(s[i:]))
			return template.HTML(b.String()) // every piece is escaped
		}
		if concealed(r, size) {
			flush(i)
			if r == utf8.RuneError && size == 1 {
				fmt.Fprintf(&b, `<span class="concealed" title="a byte that is no text">%02X</span>`, s[i])
			} else {
				fmt.Fprintf(&b, `<span class="concealed" title="a character that can’t be seen">U+%04X</span>`, r)
			}
			from = i + size
		}
		i += size
		n++
	}
	flush(len(s))
	b.WriteString("</bdi>")
	return template.HTML(b.String()) // every piece is escaped
}

// concealed reports a character that hides or reorders others: controls, overrides and
// embeddings of direction, tags, and what has no width, but for the joiners that
// scripts and emoji are written with, and the marks of direction, which reorder
// nothing but themselves.
func concealed(r rune, size int) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d', '\u200e', '\u200f', '\u061c', '\u00ad':
		return false
	case utf8.RuneError:
		return size == 1
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == '\u115f' || r == '\u3164'
}

// oneLine is a text without its breaks, cut to most code points.
func oneLine(s string, most int) template.HTML {
	if len(s) > 4*most+4096 { // of a long text only the beginning is looked at
		s = strings.ToValidUTF8(s[:4*most+4096], "")
	}
	return shown(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' || r == ' ' }), " "), most)
}

// windowTitle is a text for the title of a window, where no mark-up is: one line, without
// what can't be seen, cut.
func windowTitle(s string) string {
	const most = 100
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(s[:min(len(s), 8*most)]) {
		for i, r := range " " + word {
			if i == 0 && n == 0 || concealed(r, utf8.RuneLen(r)) || r == utf8.RuneError {
				continue
			}
			if n++; n > most {
				return b.String() + "…"
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// claimText is all that a claim says, as plain text, whatever its length.
func claimText(v *visit) error {
	return v.withStore(func(s store.Engine) error {
		c, err := s.Get(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		h := v.w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		v.w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(v.w, c.Text) // the visitor is gone, if it fails
		return nil
	})
}
