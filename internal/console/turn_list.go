package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/run/session"
)

const (
	turnsPerPage  = 40   // in a list
	turnsAtATime  = 500  // turns whose texts a search reads at once
	turnsSearched = 5000 // turns that a search examines before it shows its results
	agentChoices  = 100  // agents that the form offers
)

type turnsBody struct {
	Now       time.Time
	Rows      []turnRow
	Next      string
	Newest    string   // from a later page, the link to the newest turns
	Chosen    []choice // the active filters, each with a link that removes it
	Modes     []choice
	Spans     []choice
	Agents    []string
	Form      turnForm
	Filtered  bool // a filter is active
	Searched  int  // number of turns that a text search examined, if there are more
	Paused    bool // live updates are paused
	PausePath string
	Session   string
	Own       bool // only the visitor's own turns
	Forbidden bool // the visitor may see the turns of a session, but not of all sessions
	Unread    []string
}

type turnForm struct {
	Text, Agent, From, To string
	NoBlock               bool
	Kept                  []choice // other filters
}

type turnRow struct {
	ledger.Turn
	Path, OfSession, OfAgent string
	Question                 string // "" if it is not stored, or not visible to the visitor
	Why                      string // why there is no block
	Tone                     string
	Marks                    []badge
}

// turnFilters lists the parameters of the address that filter the list.
var turnFilters = []struct{ name, title string }{{"session", "Session"}, {"agent", "Agent"}, {"q", "Text"}, {"from", "From"}, {"to", "Until"}}

// turnSpan is a period that filters the list with one click.
type turnSpan struct {
	name, title string
	span        time.Duration // 0 means all
}

var turnSpans = []turnSpan{{"", "all", 0}, {"hour", "last hour", time.Hour}, {"day", "day", 24 * time.Hour}, {"week", "week", 7 * 24 * time.Hour}, {"month", "month", 30 * 24 * time.Hour}}

// isOwn reports whether a turn or session that came with the key of this name is the visitor's.
func (v *visit) isOwn(key string) bool {
	return v.con.ring.Load() != nil && v.principal.Asked(key)
}

// canSeeMessages reports whether the visitor may see the messages of a turn or session: operators, and the
// owner of its key.
func (v *visit) canSeeMessages(key string) bool { return v.canOperate() || v.isOwn(key) }

// hasOwnTurns reports whether the visitor's key can have turns of its own.
func (v *visit) hasOwnTurns() bool { return v.isOwn(v.principal.Name) }

// turnsPage lists the turns, newest first. The turns of one session need only the right read, as in
// the API. The list of all turns shows everybody's conversations, so visitors without operate only
// see their own.
func turnsPage(v *visit) error {
	q := v.r.URL.Query()
	b := turnsBody{Now: v.now(), Session: q.Get("session"), Paused: q.Get("hold") == "yes" || q.Get("before") != ""}
	p := page{Title: "Turns", Section: secTurns, Tab: "Live", Body: &b}
	b.Own = b.Session == "" && !v.canOperate()
	if b.Forbidden = b.Own && !v.hasOwnTurns(); b.Forbidden {
		return v.page("turns", p)
	}
	m, since, err := v.turnMatch()
	if err != nil {
		return err
	}
	if b.Own {
		m.Key = v.principal.Name
	}
	if b.Unread, err = v.catchUpTurns(); err != nil {
		return err
	}
	if err := v.listTurns(&b, m, since); err != nil {
		return err
	}
	if m.Before != "" {
		b.Newest = withoutParam(v, "hold")
	}
	b.fillFilters(v)
	b.PausePath = withParam(v.r.URL, "hold", "yes")
	if b.Paused {
		b.PausePath = withoutParam(v, "hold")
	} else {
		p.Live = []string{liveTurns}
	}
	return v.page("turns", p)
}

// turnMatch parses from the address which turns to list, and since when.
func (v *visit) turnMatch() (m ledger.Match, since time.Time, err error) {
	q := v.r.URL.Query()
	m = ledger.Match{Session: q.Get("session"), Agent: q.Get("agent"), Mode: ken.Mode(q.Get("mode")), Before: q.Get("before"), NoBlock: q.Get("block") == "none"}
	for name, to := range map[string]*time.Time{"from": &since, "to": &m.Until} {
		if *to, err = momentOf(name, q.Get(name)); err != nil {
			return m, since, err
		}
	}
	at := slices.IndexFunc(turnSpans, func(s turnSpan) bool { return s.name == q.Get("span") })
	switch {
	case at < 0:
		return m, since, &ken.Error{Code: ken.CodeInvalid, Field: "span", Msg: "there is no such period", Try: "Use hour, day, week or month, or from and to."}
	case at > 0:
		if from := v.now().Add(-turnSpans[at].span); from.After(since) {
			since = from
		}
	}
	if !m.Until.IsZero() && !since.Before(m.Until) {
		return m, since, &ken.Error{Code: ken.CodeInvalid, Field: "to", Msg: "not after the beginning of the time", Try: "Use a later end, or leave it out."}
	}
	return m, since, nil
}

// minuteLayout is the time format of a browser's date and time field.
const minuteLayout = "2006-01-02T15:04"

// momentOf parses a date, or a date and a time, in UTC; "" gives the zero time.
func momentOf(name, s string) (at time.Time, err error) {
	if s == "" {
		return at, nil
	}
	for _, layout := range []string{minuteLayout, "2006-01-02T15:04:05", time.DateOnly, time.RFC3339} {
		if at, err = time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return at, &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "not a date or time", Try: "Use a date such as 2026-03-01, or a date and a time such as 2026-03-01T14:30, in UTC."}
}

// fieldMoment returns a moment of the address as a browser's date and time field takes it.
func fieldMoment(s string) string {
	if at, err := momentOf("", s); err == nil && s != "" {
		return at.UTC().Format(minuteLayout)
	}
	return s
}

// listTurns fills the rows of a page. A text search reads the texts of turns until the page is full
// or turnsSearched turns were examined, so that its cost is bounded.
func (v *visit) listTurns(b *turnsBody, m ledger.Match, since time.Time) error {
	words := strings.Fields(strings.ToLower(v.r.URL.Query().Get("q")))
	limit, searched, more := turnsPerPage, 0, 1
	if len(words) > 0 {
		limit = turnsAtATime
	}
	for more > 0 && len(b.Rows) < turnsPerPage && searched < turnsSearched {
		var turns []ledger.Turn
		turns, more = v.con.turns.Turns(v.owner(), since, limit, m)
		texts, err := v.exchanges(turns)
		unread, err := splitCorrupt(err)
		if err != nil {
			return err
		}
		b.Unread = append(b.Unread, unread...)
		for i := range turns {
			searched++
			m.Before = turns[i].ID
			if !containsWords(&texts[i], words) {
				continue
			}
			if b.Rows = append(b.Rows, turnRowOf(turns[i], texts[i].Question, v.r.URL)); len(b.Rows) == turnsPerPage {
				more += len(turns) - 1 - i
				break
			}
		}
	}
	if more > 0 {
		b.Next = withParam(v.r.URL, "before", m.Before)
		if len(words) > 0 && len(b.Rows) < turnsPerPage {
			b.Searched = searched
		}
	}
	return nil
}

// exchanges returns the question and the answer of each turn, as far as they are stored and the
// visitor may see them.
func (v *visit) exchanges(turns []ledger.Turn) ([]session.Exchange, error) {
	places := make([]session.Place, len(turns))
	for i := range turns {
		if v.canSeeMessages(turns[i].Key) {
			places[i] = session.Place{Session: turns[i].Session, Through: turns[i].Through}
		}
	}
	return v.con.layer.Operator().Journal(v.owner()).Exchanges(v.ctx(), places)
}

// containsWords reports whether a turn's question and answer contain all words. The words must be in lower
// case.
func containsWords(x *session.Exchange, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := ""
	for _, e := range []*session.Entry{x.Question, x.Answer} {
		if e != nil {
			text += strings.ToLower(e.Message.Text) + "\n"
		}
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// fillFilters sets the active filters and the available ones.
func (b *turnsBody) fillFilters(v *visit) {
	q := v.r.URL.Query()
	for _, f := range turnFilters {
		if value := q.Get(f.name); value != "" {
			b.Chosen = append(b.Chosen, choice{Name: f.title, Value: value, Path: withoutParam(v, f.name)})
		}
	}
	if q.Get("block") == "none" {
		b.Chosen = append(b.Chosen, choice{Name: "Block", Value: "none", Path: withoutParam(v, "block")})
	}
	b.Modes = []choice{{Name: "all", Here: q.Get("mode") == "", Path: withoutParam(v, "mode")}}
	for _, m := range retrievalModes {
		b.Modes = append(b.Modes, choice{Name: string(m.mode), Here: q.Get("mode") == string(m.mode), Path: withParam(v.r.URL, "mode", string(m.mode))})
	}
	for _, s := range turnSpans {
		c := choice{Name: s.title, Here: q.Get("span") == s.name, Path: withParam(v.r.URL, "span", s.name)}
		if s.name == "" {
			c.Path = withoutParam(v, "span")
		}
		b.Spans = append(b.Spans, c)
	}
	b.Form = turnForm{Text: q.Get("q"), Agent: q.Get("agent"), From: fieldMoment(q.Get("from")), To: fieldMoment(q.Get("to")), NoBlock: q.Get("block") == "none"}
	for _, name := range []string{"session", "mode", "span"} {
		if value := q.Get(name); value != "" {
			b.Form.Kept = append(b.Form.Kept, choice{Name: name, Value: value})
		}
	}
	b.Filtered = len(b.Chosen) > 0 || q.Get("mode") != "" || q.Get("span") != ""
	if v.canOperate() {
		agents := v.con.turns.Agents(v.owner())
		b.Agents = mapped(agents[:min(len(agents), agentChoices)], func(a *ledger.Agent) string { return a.Name })
	}
}

// turnRowOf returns the row of a turn with its question, which may be nil; u is the address of the
// list.
func turnRowOf(t ledger.Turn, question *session.Entry, u *url.URL) turnRow {
	r := turnRow{Turn: t, Path: pathOf("turns", t.ID), Tone: modeTone(t.Mode)}
	if question != nil {
		r.Question = question.Message.Text
	}
	if t.Session != "" {
		r.OfSession = withParam(u, "session", t.Session)
	}
	if t.Agent != "" {
		r.OfAgent = withParam(u, "agent", t.Agent)
	}
	if t.Chars == 0 {
		r.Why = noBlockReason(t.Policy, t.Cause, t.Cut, t.CutFor)
	}
	r.Marks = countBadges(t.Corrected, t.Taint, t.Degraded, 0, t.Helped)
	return r
}

// noBlockReason returns why a turn got no block.
func noBlockReason(policy, cause string, cut int, most ken.CutReason) string {
	switch {
	case policy != "":
		return policy + " of the configuration decided so"
	case cause != "":
		return cause
	case cut > 0:
		why := cmp.Or(string(most), "see the turn")
		if at := slices.IndexFunc(cutLabels, func(c cutLabel) bool { return c.reason == most }); at >= 0 {
			why = cutLabels[at].says
		}
		return plural(cut, "item was", "items were") + " found and left out: " + why
	}
	return "no stored knowledge matches it"
}
