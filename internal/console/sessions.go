package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

const (
	sessionsPerPage  = 40
	messagesPerPage  = 100
	turnsOfASession  = 12
	mostMessageRunes = 4000
)

// sessionsBody lists the sessions, the last that was active first.
type sessionsBody struct {
	Now      time.Time
	Sessions []session.Info
	Total    int
	Next     string
	Warnings []string
}

func sessionsPage(v *visit) error {
	all, err := v.con.l.Journal(v.owner()).List(v.ctx())
	b := sessionsBody{Now: v.now(), Total: len(all)}
	if b.Warnings, err = missing(err); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b session.Info) int { return cmp.Or(b.Active.Compare(a.Active), cmp.Compare(a.ID, b.ID)) })
	from := v.number("from", 0, 0, len(all))
	to := min(from+sessionsPerPage, len(all))
	b.Sessions = all[from:to]
	if to < len(all) {
		b.Next = with(v.r.URL, "from", strconv.Itoa(to))
	}
	return v.page("sessions", page{Title: "Sessions", Section: secStore, Tab: "Sessions", Live: []string{liveTurns, liveClaims, liveJobs}, Body: b})
}

// sessionBody is what a session learned: the lens of a run.
type sessionBody struct {
	Now     time.Time
	Info    session.Info
	Learned []learnedClaim
	Dropped []dropped
	Turns   []ledger.Turn
	More    int // turns that are not listed

	// What was said, for those who operate.
	Entries    []session.Entry
	Injected   int
	Checkpoint *session.Checkpoint
	Next       string
	Talk       bool // it may be shown
}

// learnedClaim is a claim that came of a session, and how.
type learnedClaim struct {
	row
	How string
}

type dropped struct {
	Why   string
	Count int
}

func sessionPage(v *visit) error {
	id := v.r.PathValue("id")
	info, err := v.con.l.Journal(v.owner()).Info(v.ctx(), id)
	if err != nil {
		return noSession(err)
	}
	b := sessionBody{Now: v.now(), Info: info, Talk: v.who.Can(access.Operate)}
	if err := v.withStore(func(s store.Engine) error {
		claims, err := v.con.l.CameOf(v.ctx(), s, &info)
		b.Learned = lessons(claims, &info, b.Now)
		return err
	}); err != nil {
		return err
	}
	if info.Outcome != nil {
		for why, n := range info.Outcome.Dropped {
			b.Dropped = append(b.Dropped, dropped{why, n})
		}
		slices.SortFunc(b.Dropped, func(a, b dropped) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Why, b.Why)) })
	}
	if _, err := v.remember(); err != nil {
		return err
	}
	b.Turns, b.More = v.con.turns.Turns(v.owner(), time.Time{}, turnsOfASession, ledger.Match{Session: id})
	if b.Talk {
		if err := v.talk(&b); err != nil {
			return err
		}
	}
	return v.page("session", page{Title: "Session", Section: secStore, Tab: "Sessions", Live: []string{liveTurns, liveClaims, liveJobs}, Body: b})
}

// noSession words that there is none: another owner's is none either.
func noSession(err error) error {
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) {
		return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no such session", Try: "Look at the list of sessions: what was forgotten is not in it."}
	}
	return err
}

// talk adds what was said.
func (v *visit) talk(b *sessionBody) error {
	tr, err := v.con.l.Transcript(v.ctx(), v.owner(), b.Info.ID)
	if err != nil {
		return noSession(err)
	}
	from := v.number("from", 0, 0, len(tr.Entries))
	to := min(from+messagesPerPage, len(tr.Entries))
	b.Entries, b.Injected, b.Checkpoint = tr.Entries[from:to], len(tr.Injected), tr.Checkpoint
	if to < len(tr.Entries) {
		b.Next = with(v.r.URL, "from", strconv.Itoa(to))
	}
	return nil
}

// lessons says how each claim came of a session.
func lessons(claims []middleware.ClaimView, info *session.Info, now time.Time) []learnedClaim {
	how := map[string]string{}
	if o := info.Outcome; o != nil {
		how[o.Episode] = "what happened"
		for word, ids := range map[string][]string{"learned": o.Learned, "seen again": o.Reinforced, "replaced": o.Superseded, "contradicted": o.Disputed,
			"a candidate": o.Patterns, "found out": o.Findings} {
			for _, id := range ids {
				how[id] = word
			}
		}
	}
	out := make([]learnedClaim, len(claims))
	for i := range claims {
		out[i] = learnedClaim{rowOf(&claims[i], now), how[claims[i].ID]}
	}
	return out
}

// changingSession is a handler that does something with the session of the path.
func changingSession(did string, do func(v *visit, id string) error) func(*visit) error {
	return func(v *visit) error {
		info, err := v.con.l.Journal(v.owner()).Info(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return noSession(err)
		}
		if err := do(v, info.ID); err != nil {
			return err
		}
		if did == "forgotten" {
			return v.did(pathOf("sessions"), did)
		}
		return v.did(pathOf("sessions", info.ID), did)
	}
}

func endSession(v *visit, id string) error {
	return v.con.l.End(v.ctx(), v.owner(), id, session.Closed)
}

func harvestSession(v *visit, id string) error {
	_, err := v.con.l.HarvestAgain(v.ctx(), v.owner(), id)
	return err
}

// forgetSession erases a session. Half of it would be worse than none, so the end of
// the visit does not stop it.
func forgetSession(v *visit, id string) error {
	ctx := context.WithoutCancel(v.ctx())
	return v.withStore(func(s store.Engine) error {
		if err := v.con.l.ForgetSession(ctx, v.owner(), id); err != nil {
			return err
		}
		v.con.turns.Drop(v.owner())
		if err := s.Compact(ctx); err != nil { // the pages that held it are free, and still full of it
			return fmt.Errorf("clear the disk of a session: %w", err)
		}
		return nil
	})
}

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

// tally is what waits for a person: the numbers in the navigation, and the queue.
// Counting looks at every claim that stands, so pages don't wait for it.
type tally struct {
	Review, Attention, Dead int

	queue  []attention.Item // what needs attention, and what was dismissed of it; not to be changed
	unread error            // what could not be read and is missing from it
	failed error            // why nothing could be counted
	seq    uint64           // of the log, when it was counted
	took   time.Duration
}

// tallyLasts is after how long a tally is counted anew, whatever the log says: refused
// writes and marks of agents are in no log.
const tallyLasts = 5 * time.Second

// tallyShare bounds what counting costs while the log grows all the time: one part in so
// many of the time.
const tallyShare = 10

// tally is the visitor's owner's, as last counted: every page waits a little for the numbers
// of its navigation, which follow by themselves.
func (c *Console) tally(v *visit) tally {
	if v.tallied == nil {
		t := tally{}
		if last := v.count(v.con.o.Patience / 4); last != nil {
			t = *last
		}
		if !v.who.Can(access.Operate) {
			t.Dead = 0
		}
		v.tallied = &t
	}
	return *v.tallied
}

// count returns the last tally, or a new one if that comes within a moment; nil while
// there is none.
func (v *visit) count(wait time.Duration) *tally {
	owner := v.owner()
	seq := v.seq()
	return v.con.tallies.within(v, owner, func(t *tally, at time.Time) bool {
		age := v.now().Sub(at)
		return t.seq == seq && age <= tallyLasts || age < tallyShare*t.took
	}, func(ctx context.Context, _ *tally) *tally { return v.con.countFor(ctx, owner) }, wait)
}

// seq is how far the visitor's log has come.
func (v *visit) seq() (seq uint64) {
	if v.who.Owner == "" {
		return 0
	}
	_ = v.withStore(func(s store.Engine) error { // what can't be opened is told by the page itself
		seq = s.Seq()
		return nil
	})
	return seq
}

// countFor counts what waits for an owner.
func (c *Console) countFor(ctx context.Context, owner string) *tally {
	s, release, err := c.l.Store(ctx, owner)
	if err != nil {
		return &tally{failed: err}
	}
	defer release()
	begun := c.o.Now()
	t := &tally{seq: s.Seq()}
	desk := operator.New(c.l, s, operator.Options{Now: c.o.Now})
	if waiting, err := desk.Candidates(ctx); err == nil {
		t.Review = len(waiting.Memory) + len(waiting.Others)
	}
	t.queue, t.unread, t.failed = desk.Attention(ctx, true)
	t.Attention = len(open(t.queue))
	if dead, err := c.l.Jobs(owner).List(ctx, jobs.Dead); err == nil {
		t.Dead = len(dead)
	}
	t.took = c.o.Now().Sub(begun)
	return t
}

// open is what of a queue was not dismissed.
func open(queue []attention.Item) []attention.Item {
	return slices.DeleteFunc(slices.Clone(queue), func(i attention.Item) bool { return i.Dismissed })
}

// decidedPatience is how long a page that shows what a decision left waits for it.
const decidedPatience = 5 * time.Second

// queue lists what needs attention, with all also what was dismissed. unread is what is
// missing from the list. made is false while it is made for the first time.
func (v *visit) queue(all bool, wait time.Duration) (items []attention.Item, made bool, unread, err error) {
	switch t := v.count(wait); {
	case t == nil:
		return nil, false, nil, nil
	case t.failed != nil || all:
		return slices.Clone(t.queue), true, t.unread, t.failed
	default:
		return open(t.queue), true, t.unread, nil
	}
}

// slowly shows a page of which a part takes its time: what stands before that part is
// sent at once, and the part when it is there. The template of the page puts .Body.Later
// where the part goes; fill returns the part's template and its data. What it fails with
// is told in the part's place, since the page has begun.
func (v *visit) slowly(name string, p page, body map[string]any, fill func() (part string, data any, err error)) error {
	mark := secret()
	hole := []byte("<!--" + hex.EncodeToString(mark[:]) + "-->")
	body["Later"] = template.HTML(hole) // hexadecimal digits
	p.Body = body
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
	_, _ = v.w.Write(before) // the visitor is gone, if it or what follows fails
	_ = http.NewResponseController(v.w).Flush()
	_, _ = v.w.Write(v.part(name, fill))
	_, _ = v.w.Write(after)
	return nil
}

// part renders the slow part of a page, or what went wrong with it.
func (v *visit) part(name string, fill func() (string, any, error)) []byte {
	part, data, err := fill()
	if err == nil {
		var b bytes.Buffer
		var t *template.Template
		if t, err = templates.page(name); err == nil {
			if err = t.ExecuteTemplate(&b, part, map[string]any{"Visit": v.frame(), "Body": data}); err == nil {
				return b.Bytes()
			}
		}
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && v.ctx().Err() == nil {
		v.con.o.Log.Error("a part of a page failed", "page", name, "cause", err, "try", ken.Hint(err))
	}
	return []byte(`<div class="note danger" role="alert"><p>` + template.HTMLEscapeString(p.Msg) + `</p><p>` + template.HTMLEscapeString(p.Try) + `</p></div>`)
}
