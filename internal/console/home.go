package console

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// homeBody is the overview: what waits for the visitor, what agents were told lately,
// what was learned, and whether all is well.
type homeBody struct {
	Now       time.Time
	Claims    int
	Documents int
	Statuses  template.HTML // claims by status
	Counting  *facet.Progress

	Waiting []attention.Item
	Review  int

	Mode   ken.Mode
	Cause  string
	Turns  []ledger.Turn // nil where the visitor may not see them
	Day    int           // turns of the last 24 hours
	Hybrid float64       // the part of them that ran hybrid
	P50    float64
	Modes  template.HTML

	Learned []row
}

const (
	homeWaiting = 5
	homeTurns   = 6
	homeClaims  = 6
)

func home(v *visit) error {
	b := homeBody{Now: v.now(), Review: v.con.tally(v).Review}
	err := v.withStore(func(s store.Engine) error {
		b.Mode, b.Cause = v.con.l.Recaller(s, middleware.RecallQuery{}).Mode()
		if err := v.homeClaims(s, &b); err != nil {
			return err
		}
		b.Waiting = open(v.con.tally(v).queue)
		b.Waiting = b.Waiting[:min(len(b.Waiting), homeWaiting)]
		return v.homeTurns(&b)
	})
	if err != nil {
		return err
	}
	return v.page("home", page{Title: "Overview", Section: secHome, Live: []string{liveClaims, liveTurns, liveAttention}, Body: b})
}

// homeClaims counts what is known, and lists what was learned last.
func (v *visit) homeClaims(s store.Engine, b *homeBody) error {
	progress, err := v.con.claims.Catch(v.ctx(), s)
	if err != nil {
		return err
	}
	if !progress.Ready {
		b.Counting, v.again = &progress, true
		return nil
	}
	p, err := v.con.claims.Select(s.Owner(), facet.Selection{Limit: homeClaims})
	if err != nil {
		return err
	}
	b.Claims, b.Documents = p.Total, max(s.Len()-p.Total, 0)
	for _, f := range p.Facets {
		if f.Name == facet.Status {
			b.Statuses = chart.Stack(statusParts(f.Values))
		}
	}
	b.Learned, err = v.rows(s, p.IDs)
	return err
}

// homeTurns is what agents were told in the last day.
func (v *visit) homeTurns(b *homeBody) error {
	if _, err := v.remember(); err != nil {
		return err
	}
	if v.who.Can(access.Operate) {
		b.Turns, _ = v.con.turns.Turns(v.owner(), time.Time{}, homeTurns, ledger.Match{})
	}
	const hours = 24
	series := v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, hours)
	for _, x := range v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, 1) {
		b.Day, b.Hybrid, b.P50 = x.Turns, x.Share(ken.ModeHybrid), x.P50
	}
	if b.Day > 0 {
		b.Modes = chart.Shares(modeShares("How retrieval ran in the last 24 hours", series))
	}
	return nil
}

// errNotTheirs is what a visitor is told who is another owner than the project's. It is
// the same for what is there and for what is not.
var errNotTheirs error = &ken.Error{Code: ken.CodeRefused, Msg: "the files of this project are not those of this owner",
	Try: "Look at the claims: they are what this owner's agents know."}

// ownsFiles reports whether the project's files are the visitor's owner's: those of the
// one that is configured, and nobody else's, as turns and tools have it.
func (v *visit) ownsFiles() bool { return v.con.l.RootOf(v.owner()) != "" }

// fileEvidence is a file that a claim is to rest on: one of the project with its hash, so
// that it shows when it has changed. Another owner's is a name alone.
func (v *visit) fileEvidence(path string) (ken.Evidence, error) {
	if !v.ownsFiles() {
		return ken.FromFile(path, "", ""), nil
	}
	e, err := provenance.Evidence(v.con.l.Root(), path)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "file"
	}
	return e, err
}

// decisions are the project's, as their files are now.
func (v *visit) decisions() (*decision.Registry, error) {
	if !v.ownsFiles() {
		return nil, errNotTheirs
	}
	base := v.con.l.Codebase()
	if base == nil {
		_, err := v.con.l.ReadCode(v.ctx()) // which says why
		return nil, err
	}
	r := base.Decisions()
	changed, err := r.Refresh(v.ctx())
	if len(changed.Added)+len(changed.Changed)+len(changed.Removed) > 0 {
		v.con.govern()
	}
	return r, err
}

// govern has the graph hear of decisions that have changed. It may have to wait until
// the code was read, which a page does not.
func (c *Console) govern() {
	c.running.Go(func() {
		if err := c.l.Codebase().Govern(c.stop); err != nil && c.stop.Err() == nil {
			c.o.Log.Warn("tell the code graph of decisions", "cause", err, "try", ken.Hint(err))
		}
	})
}

// objectives are the project's.
func (v *visit) objectives() (*objective.Store, error) {
	if !v.ownsFiles() {
		return nil, errNotTheirs
	}
	if s := v.con.l.Objectives(); s != nil {
		return s, nil
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.objectives", Msg: "objectives are switched off, or could not be opened",
		Try: "Set middleware.objectives to true, and look at ken doctor."}
}

// fileProblem is something in a file of the project that somebody should look at.
type fileProblem struct {
	File, Path string // from the root, and of the page that shows it
	Line       int    // from 1; 0 for the whole file
	Text, Try  string
}

func problemIn(file string, line int, text, try string) fileProblem {
	return fileProblem{File: file, Path: filePath(file), Line: line, Text: text, Try: try}
}

// filePath is the page of a file.
func filePath(file string) string { return pathOf("files") + "?path=" + escapeQuery(file) }

// namedPath leads to what a name stands for in the code: a file, a folder's package or a
// declaration. It is "" where that is nothing, or several things.
func (v *visit) namedPath(name string) string {
	base := v.con.l.Codebase()
	if base == nil {
		return ""
	}
	n, err := base.View().One(name)
	switch {
	case err != nil:
		return ""
	case n.Kind == codegraph.KindFile:
		return filePath(n.Path)
	}
	return symbolPath(n.ID, 1)
}

// projectState names what the project's decisions, objectives and layers are, for who
// follows their pages.
func (v *visit) projectState() string {
	if !v.ownsFiles() {
		return ""
	}
	sum := fnv.New64a()
	if reg, err := v.decisions(); err == nil {
		for _, r := range reg.List() {
			fmt.Fprintln(sum, r.Path, r.Hash)
		}
	}
	if s, err := v.objectives(); err == nil {
		list, _, _ := s.List(v.ctx()) // the page says what can't be read
		for i := range list {
			fmt.Fprintln(sum, list[i].Path, list[i].Hash)
		}
	}
	return fmt.Sprint(sum.Sum64(), v.con.stampOf(drift.DefaultManifest), v.con.stampOf(drift.DefaultBaseline))
}

// Topics that a page can follow.
const (
	liveClaims    = "claims"    // the log has grown
	liveTurns     = "turns"     // a turn was prepared, or its answer was looked at
	liveAttention = "attention" // what waits for a person is another number
	liveJobs      = "jobs"
	liveCode      = "code"    // files of the project were read
	liveProject   = "project" // decisions, objectives, or what is against the layers
)

// maxStreams bounds the pages that follow changes at once.
const maxStreams = 200

// heartbeat is how many ticks a stream says nothing at most: it finds out that the
// visitor has left, and a proxy in between that it is not dead.
const heartbeat = 15

// jobTicks is how many ticks pass between two looks at jobs, which are read one by one.
const jobTicks = 3

// events is a stream of the names of topics of which something has changed. A page
// asks for itself again then: what it shows is made in one place.
func events(v *visit) error {
	if v.con.streams.Add(1) > maxStreams {
		v.con.streams.Add(-1)
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "too many pages follow changes already", Try: "Close some of them; this one still shows what is there when it is loaded."}
	}
	defer v.con.streams.Add(-1)
	topics := strings.Split(v.text("topics"), ",")
	ctx, cancel := context.WithCancel(v.ctx())
	defer cancel()
	defer context.AfterFunc(v.con.stop, cancel)()
	return v.withStore(func(s store.Engine) error {
		h := v.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // of a proxy that would collect them
		v.w.WriteHeader(http.StatusOK)
		out := &stream{w: v.w, c: http.NewResponseController(v.w)}
		w := watch{v: v, s: s, topics: topics}
		seq := s.Seq()
		w.look(ctx, 0) // before the page hears that it is followed: what comes then is told
		grown := w.follow(ctx, seq)
		out.send("ready")
		for _, topic := range w.missed(v.text("at"), seq) {
			out.send(topic)
		}
		tick := time.NewTicker(v.con.o.Tick)
		defer tick.Stop()
		for n := 1; ctx.Err() == nil && out.err == nil; {
			select {
			case <-ctx.Done():
				return nil
			case <-grown:
				if slices.Contains(topics, liveClaims) {
					out.send(liveClaims)
				}
			case <-tick.C:
				n++
				for _, topic := range w.look(ctx, n) {
					out.send(topic)
				}
				if n%heartbeat == 0 {
					out.beat()
				}
			}
		}
		return nil
	})
}

// stream is a response that goes on. After a failed write it does nothing.
type stream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func (s *stream) send(topic string) { s.put("event: change\ndata: " + topic + "\n\n") }
func (s *stream) beat()             { s.put(":\n\n") }

func (s *stream) put(text string) {
	if s.err == nil {
		if _, s.err = fmt.Fprint(s.w, text); s.err == nil {
			s.err = s.c.Flush()
		}
	}
}

// watch knows what a stream has told of.
type watch struct {
	v       *visit
	s       store.Engine
	topics  []string
	turn    string
	waits   string // what waits for a person
	jobs    string
	code    string
	project string
}

// moment says what a page was made of: how far the log had come, and the last turn.
func (v *visit) moment() string {
	turn, _, _ := v.con.turns.Latest(v.owner())
	return fmt.Sprintf("%d.%s", v.from, turn)
}

// missed are the topics of which something has changed between a page's moment and the
// stream's.
func (w *watch) missed(moment string, seq uint64) (topics []string) {
	then, turn, ok := strings.Cut(moment, ".")
	if !ok { // it did not say
		return nil
	}
	if then != strconv.FormatUint(seq, 10) {
		topics = append(topics, liveClaims)
	}
	if last, _, _ := strings.Cut(w.turn, " "); last != turn && last != "" {
		topics = append(topics, liveTurns)
	}
	return slices.DeleteFunc(topics, func(t string) bool { return !slices.Contains(w.topics, t) })
}

// follow is told each time the log has grown, from a number on. It ends with ctx.
func (w *watch) follow(ctx context.Context, seq uint64) <-chan struct{} {
	grown := make(chan struct{}, 1)
	w.v.con.running.Go(func() {
		for w.s.Wait(ctx, seq) == nil && ctx.Err() == nil {
			seq = w.s.Seq()
			select {
			case grown <- struct{}{}:
			default:
			}
		}
	})
	return grown
}

// look returns the topics of which something has changed since the last look.
func (w *watch) look(ctx context.Context, n int) (changed []string) {
	for _, topic := range w.topics {
		different := false
		switch topic {
		case liveTurns:
			different = swap(&w.turn, w.lastTurn(ctx))
		case liveAttention:
			if t := w.v.count(0); t != nil {
				different = swap(&w.waits, fmt.Sprint(t.Review, t.Attention, t.Dead))
			}
		case liveProject:
			if n%jobTicks == 0 {
				different = swap(&w.project, w.v.projectState())
			}
		case liveCode:
			different = swap(&w.code, w.v.codeState())
		case liveJobs:
			if n%jobTicks == 0 {
				different = swap(&w.jobs, w.jobStates(ctx))
			}
		}
		if different {
			changed = append(changed, topic)
		}
	}
	return changed
}

func swap[T comparable](have *T, now T) bool {
	was := *have
	*have = now
	return was != now
}

// lastTurn names the newest receipt as it is: what its answer turned out to do is
// written later.
func (w *watch) lastTurn(ctx context.Context) string {
	list, _, err := w.v.con.l.Receipts(w.v.owner()).List(ctx, receipt.Query{Limit: 1})
	if err != nil || len(list) == 0 {
		return ""
	}
	return fmt.Sprintln(list[0].Turn, list[0].At.UnixNano(), len(list[0].Used), len(list[0].Taint))
}

func (w *watch) jobStates(ctx context.Context) string {
	list, err := w.v.con.l.Jobs(w.v.owner()).List(ctx)
	if err != nil {
		return ""
	}
	n := map[string]int{}
	for i := range list {
		n[string(list[i].State)]++
	}
	return fmt.Sprint(n)
}
