package console

import (
	"errors"
	"net/url"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
)

// turnsPerPage is how many turns a list shows at once.
const turnsPerPage = 40

// turnsBody is the list of turns.
type turnsBody struct {
	Now     time.Time
	Rows    []turnRow
	Next    string
	Newest  string   // leads to the newest, from a later page
	Chosen  []choice // what narrows the list, each with the way out
	Modes   []choice
	Held    bool // the list stays as it is
	HoldOr  string
	Session string
	Barred  bool // the visitor may see the turns of a session, but not of all
	Unread  []string
}

// turnRow is a turn as a line of the list.
type turnRow struct {
	ledger.Turn
	Path, OfSession, OfAgent string
	Tone                     string
	Marks                    []mark
}

// turnFilters are the names in the address that narrow the list.
var turnFilters = []struct{ name, title string }{{"session", "Session"}, {"agent", "Agent"}, {"mode", "Mode"}}

// turnsPage lists the turns, newest first. Those of one session are for whoever may read,
// as over the API; those of all tell of everybody's conversations.
func turnsPage(v *visit) error {
	q := v.r.URL.Query()
	b := turnsBody{Now: v.now(), Session: q.Get("session"), Held: q.Get("hold") == "yes" || q.Get("before") != ""}
	p := page{Title: "Turns", Section: secTurns, Tab: "Live", Body: &b}
	if b.Barred = b.Session == "" && !v.operates(); b.Barred {
		return v.page("turns", p)
	}
	var err error
	if b.Unread, err = v.remember(); err != nil {
		return err
	}
	m := ledger.Match{Session: b.Session, Agent: q.Get("agent"), Mode: ken.Mode(q.Get("mode")), Before: q.Get("before")}
	turns, more := v.con.turns.Turns(v.owner(), time.Time{}, turnsPerPage, m)
	for i := range turns {
		b.Rows = append(b.Rows, turnRowOf(turns[i], v.r.URL))
	}
	if more > 0 {
		b.Next = with(v.r.URL, "before", turns[len(turns)-1].ID)
	}
	if m.Before != "" {
		b.Newest = without(v, "hold")
	}
	b.narrowing(v)
	b.HoldOr = with(v.r.URL, "hold", "yes")
	if b.Held {
		b.HoldOr = without(v, "hold")
	} else {
		p.Live = []string{liveTurns}
	}
	return v.page("turns", p)
}

// narrowing says by what the list is narrowed, and by which mode it may be.
func (b *turnsBody) narrowing(v *visit) {
	q := v.r.URL.Query()
	for _, f := range turnFilters {
		if value := q.Get(f.name); value != "" && f.name != "mode" {
			b.Chosen = append(b.Chosen, choice{Name: f.title, Value: value, Path: without(v, f.name)})
		}
	}
	b.Modes = []choice{{Name: "all", Here: q.Get("mode") == "", Path: without(v, "mode")}}
	for _, m := range modes {
		b.Modes = append(b.Modes, choice{Name: string(m.mode), Here: q.Get("mode") == string(m.mode), Path: with(v.r.URL, "mode", string(m.mode))})
	}
}

// turnRowOf shows a turn; u is the list that it stands in.
func turnRowOf(t ledger.Turn, u *url.URL) turnRow {
	r := turnRow{Turn: t, Path: pathOf("turns", t.ID), Tone: modeTone(t.Mode)}
	if t.Session != "" {
		r.OfSession = with(u, "session", t.Session)
	}
	if t.Agent != "" {
		r.OfAgent = with(u, "agent", t.Agent)
	}
	r.Marks = countMarks(t.Corrected, t.Taint, t.Degraded, 0, t.Helped)
	return r
}

// noTurn words that there is no such turn for somebody who looks at a page.
func noTurn(err error) error {
	var e *ken.Error
	if errors.As(err, &e) && e.Code == ken.CodeNotFound && e.Field == "turn" && e.Msg != "" {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "there is no receipt of that turn",
			Try: "Look for it in the list of turns: the newest are kept, and those of forgotten sessions are gone."}
	}
	return err
}
