package retriever

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Retriever searches one owner's projections. Safe for concurrent use.
type Retriever struct {
	p store.Projections
	o Options
}

// New returns a retriever over p.
func New(p store.Projections, o Options) *Retriever {
	return &Retriever{p: p, o: o.withDefaults()}
}

// Turn is a question to a retriever.
type Turn struct {
	Signals ken.Signals
	Filter  ken.Filter // Filter.Now also dates decay; zero means that nothing decays
	ID      string     // the turn's, for Options.Learned
	Session string     // that the turn belongs to; its own episodes are no news to it
	// Began is the time at which the conversation began. It is set for one that uses the name
	// of a session with earlier conversations, whose episodes it does not hold. Else zero.
	Began time.Time
	Late  <-chan store.Result
	// Opens says that the conversation holds no block yet: see Options.Nearest.
	Opens bool

	// The rest is for Options.Structure: see structure.Signs.
	Text    string
	Project string
	Carried []string
	Named   []string
	Beside  []structure.Beside
	Done    []string
	Expand  bool // look one dependency further than the entities that the turn names
}

// Retrieve asks every source and returns the best of what they found, at the
// deadline or at ctx's end at the latest. It never fails: what went wrong is in
// the result.
//
// The structure is looked at first and apart from that: it is at hand, and a rule
// must not be lost to a deadline.
func (r *Retriever) Retrieve(ctx context.Context, t Turn) Result {
	out := Result{MS: make(map[string]float64, len(r.o.Sources)+1)}
	r.look(ctx, &t, &out)
	answers := r.ask(ctx, &t, &out)
	if late, ok := receive(t.Late); ok {
		answers = append(answers, answer{SourceLate, store.Result{Hits: late.Hits}}) // what it refused was that turn's affair
	}
	r.choose(ctx, answers, &t, &out)
	return out
}

func receive(late <-chan store.Result) (res store.Result, ok bool) {
	select {
	case res, ok = <-late:
	default: // nil, or not there yet
	}
	return res, ok && len(res.Hits) > 0
}

// choose fuses, ranks, applies the floors, and names everything that was cut.
//
// What belongs into every turn and the playbooks that fit it are memory, whatever
// else finds them. Playbooks that don't fit are out, whatever else finds them. An
// episode among the newest is memory only when it is not knowledge that bears on
// the turn.
func (r *Retriever) choose(ctx context.Context, answers []answer, t *Turn, out *Result) {
	f := &t.Filter
	s := candidateFilter{p: r.p, f: f, out: out, decided: make(map[store.Ref]bool, count(answers))}
	ruled := r.rules(answers, &s) // first, before anything can refuse or take them
	r.tasks(&s)
	var found, pinned, sessions, playbooks []answer
	for _, a := range answers {
		for _, c := range a.res.Cut {
			s.refuse(c.Ref, c.Reason)
		}
		switch a.name {
		case SourcePinned:
			pinned = append(pinned, a)
		case SourceSessions:
			sessions = append(sessions, a)
		case SourcePlaybooks:
			playbooks = append(playbooks, a)
		default:
			found = append(found, a)
		}
	}
	books := r.match(playbooks, found)
	out.Candidates = slices.Grow(out.Candidates, len(books.fits)+min(r.o.TopK, r.o.Pool, count(found))+count(pinned)+count(sessions))
	s.excluded = books.excluded
	if attributes := r.attributes(&out.Structure, ruled); len(attributes) > 0 {
		found = append(found, answer{SourceStructure, store.Result{Hits: attributes}})
	}
	for _, a := range pinned {
		for i, h := range a.res.Hits {
			if row, ok := s.pass(h.Ref); ok {
				out.Candidates = append(out.Candidates, Candidate{Ref: h.Ref, Row: row, Memory: true, Tier: r.tier(&row, f),
					Sources: pinnedAt(i+1, finite(h.Score))})
			}
		}
	}
	for i, m := range books.fits {
		if row, ok := s.pass(m.ref); ok {
			out.Candidates = append(out.Candidates, Candidate{Ref: m.ref, Row: row, Memory: true, Tier: r.tier(&row, f), Fused: m.score,
				Sources: map[string]ken.LegScore{SourcePlaybooks: {Rank: i + 1, Score: m.score}}, Signals: m.signals()})
		}
	}
	out.Memory = len(out.Candidates) - out.Rules
	var memory fusion
	defer memory.release()
	recent := s.admit(memory.fuse(sessions, r.o.K))
	s.readmit(recent)

	s.readmitRules(ruled)
	pool := s.admit(memory.fuse(found, r.o.K)) // what is in memory already is not admitted again
	out.Retrieved = out.Rules + out.Memory + unruled(pool, ruled)
	for _, e := range recent {
		if !slices.ContainsFunc(pool, func(p *entry) bool { return p.ref == e.ref }) {
			out.Retrieved++
		}
	}
	out.Cut = slices.Grow(out.Cut, len(pool))
	knowledge, near := r.best(ctx, pool, found, t, &s, ruled)
	for _, e := range recent {
		s.decided[e.ref] = true
		i := slices.IndexFunc(knowledge, func(k *entry) bool { return k.ref == e.ref })
		if i >= 0 {
			knowledge[i].recent = &e.hits[0]
			continue
		}
		out.Candidates = append(out.Candidates, r.candidate(e, sessions, f))
		out.Sessions++
	}
	for _, e := range near {
		if !slices.ContainsFunc(recent, func(x *entry) bool { return x.ref == e.ref }) {
			c := r.candidate(e, found, f)
			c.Signals = e.rank.signals()
			c.Row.Constraint = false // a rule that applies is among those already
			out.Candidates = append(out.Candidates, c)
		}
	}
	knowledge = r.likelyRules(knowledge, found, &s)
	for _, e := range knowledge {
		c := r.candidate(e, found, f)
		c.Memory, c.Signals = false, e.rank.signals()
		if len(c.Sources) == 0 { // see likelyRules
			c.Sources[SourceStructure] = ken.LegScore{Rank: 1, Score: 1}
		}
		if c.Recent = e.recent != nil; c.Recent {
			c.Sources[SourceSessions] = ken.LegScore{Rank: e.recent.rank, Score: e.recent.Score}
		}
		out.Candidates = append(out.Candidates, c)
	}
	for _, ref := range books.near {
		s.refuse(ref, s.excluded[ref])
	}
}

// best orders the pool and returns what is above the floor, TopK at most, and what is near: see
// Options.Nearest. Rules that apply in any case are evidence of what the turn is about, and else
// take no part.
func (r *Retriever) best(ctx context.Context, pool []*entry, found []answer, t *Turn, s *candidateFilter, ruled map[store.Ref]bool) (best, near []*entry) {
	pool = s.capped(pool, r.o.Pool, ruled)
	r.weigh(pool, found, t, s.out)
	weighFiles(pool)
	r.order(pool, found)
	r.rerank(ctx, pool, t, s.out)
	s.grade(pool, ruled)
	pool = r.answers(ctx, pool, t, s, ruled)
	pool, near = r.floor(pool, found, s, ruled)
	near = r.nearest(near, len(pool), found, t, s)
	pool = r.distinct(ctx, pool, &t.Filter, s)
	pool = r.learned(pool, found, t, s.out)
	for _, e := range pool[min(len(pool), r.o.TopK):] {
		s.cut(e, ken.CutPool)
	}
	return pool[:min(len(pool), r.o.TopK)], near
}

// nearest returns the first of the facts below the floor that a turn which opens a conversation
// gets, beside n items that are above it, and cuts the others. What an external source says comes
// with evidence only.
func (r *Retriever) nearest(below []*entry, n int, found []answer, t *Turn, s *candidateFilter) []*entry {
	room := r.o.Nearest - n
	if !t.Opens {
		room = 0
	}
	near := below[:0]
	for _, e := range below {
		if len(near) < room && e.row.Facts.Kind == ken.KindFact && e.row.Facts.Trust != ken.TrustExternal {
			near = append(near, e)
			continue
		}
		s.cut(e, floorReason(e, found))
	}
	return near
}

// candidate is an entry as memory: without signals.
func (r *Retriever) candidate(e *entry, answers []answer, f *ken.Filter) Candidate {
	c := Candidate{Ref: e.ref, Row: e.row, Memory: true, Fused: e.rank.score,
		Sources: make(map[string]ken.LegScore, len(answers)), Tier: r.tier(&e.row, f)}
	for i, h := range e.hits {
		if h.rank > 0 {
			c.Sources[answers[i].name] = ken.LegScore{Rank: h.rank, Score: h.Score}
		}
	}
	return c
}

// usualPinned is, for most of what is pinned, how it was found. A turn may have some
// hundred of them, and a map for each would be half of what it allocates.
var usualPinned = sync.OnceValue(func() []map[string]ken.LegScore {
	legs := make([]map[string]ken.LegScore, 256)
	for i := range legs {
		legs[i] = map[string]ken.LegScore{SourcePinned: {Rank: i + 1}}
	}
	return legs
})

// pinnedAt is the sources of what is pinned, at a rank from 1. It is shared.
func pinnedAt(rank int, score float64) map[string]ken.LegScore {
	if usual := usualPinned(); score == 0 && rank <= len(usual) {
		return usual[rank-1]
	}
	return map[string]ken.LegScore{SourcePinned: {Rank: rank, Score: score}}
}

// tier is a record's at the time of the filter.
func (r *Retriever) tier(row *store.Row, f *ken.Filter) ken.Tier {
	if f.Now.IsZero() {
		return row.Support.Tier
	}
	return row.Support.At(f.Now, r.o.DecayDays)
}

func count(answers []answer) (n int) {
	for _, a := range answers {
		n += len(a.res.Hits)
	}
	return n
}

// floorReason tells what only the turn before had found from what this turn did.
func floorReason(e *entry, answers []answer) ken.CutReason {
	for i, h := range e.hits {
		if h.rank > 0 && answers[i].name != SourceLate {
			return ken.CutFloor
		}
	}
	return ken.CutLate
}

// lateSource is how long a vector source may run on after the turn has gone without it.
const lateSource = 5 * time.Second

// sourceResult is what a source's goroutine hands back.
type sourceResult struct {
	source int
	res    store.Result
	err    error
	ms     float64
}

// prompt is a source that finds what it does without a search, in microseconds. It runs
// on the turn's own goroutine, beside the searches: to start another one, and to be
// woken by it, would take longer than its work.
type prompt interface{ prompt() }

// ask runs the sources together until the deadline. Each gets a filter of its own,
// so that none can change what another sees.
func (r *Retriever) ask(ctx context.Context, t *Turn, out *Result) []answer {
	wait, cancel := context.WithTimeout(ctx, r.o.Deadline)
	defer cancel()
	replies := make(chan sourceResult, len(r.o.Sources))
	late := make(chan store.Result, len(r.o.Sources))
	queries := make([]Query, len(r.o.Sources))
	filters := make([]ken.Filter, len(r.o.Sources))
	for i, leg := range r.o.Sources {
		filters[i] = t.Filter
		queries[i] = Query{Signals: t.Signals, Filter: &filters[i], Limit: r.o.limit(leg.Name()), Context: r.o.Weights.Context, Session: t.Session, Began: t.Began}
		if _, ok := leg.(prompt); ok {
			continue
		}
		if ctx.Err() != nil { // nobody is waiting, not even for what comes late
			break
		}
		run, stop := wait, context.CancelFunc(func() {})
		if leg.Name() == SourceVector { // it may finish after the turn, for the next one
			run, stop = context.WithTimeout(context.WithoutCancel(ctx), lateSource)
		}
		go func() {
			defer stop()
			rep := search(run, leg, &queries[i])
			rep.source = i
			if leg.Name() == SourceVector && rep.err == nil {
				late <- rep.res
			}
			replies <- rep
		}()
	}
	for i, leg := range r.o.Sources {
		if _, ok := leg.(prompt); ok && wait.Err() == nil {
			rep := search(wait, leg, &queries[i])
			rep.source = i
			replies <- rep
		}
	}
	got := make([]*sourceResult, len(r.o.Sources))
	for _, rep := range collect(replies, len(got), wait.Done()) {
		out.MS[r.o.Sources[rep.source].Name()] = rep.ms
		if wait.Err() == nil || !errors.Is(rep.err, wait.Err()) { // else it says in its own words that it was late
			got[rep.source] = &rep
		}
	}
	return r.settle(ctx, got, late, out)
}

// collect takes n replies, or what is there at the end.
func collect(replies <-chan sourceResult, n int, end <-chan struct{}) (got []sourceResult) {
	for len(got) < n {
		select {
		case rep := <-replies:
			got = append(got, rep)
		case <-end:
			for len(got) < n {
				select {
				case rep := <-replies:
					got = append(got, rep)
				default:
					return got
				}
			}
		}
	}
	return got
}

// search calls a source; a panic in it is its error.
func search(ctx context.Context, leg Source, q *Query) (rep sourceResult) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			rep.err = fmt.Errorf("panic: %v", p)
		}
		rep.ms = float64(time.Since(start)) / float64(time.Millisecond)
	}()
	rep.res, rep.err = leg.Search(ctx, q)
	return rep
}

// settle returns the answers, and names the mode and what is missing from it. A
// reply that did not come is nil.
func (r *Retriever) settle(ctx context.Context, got []*sourceResult, late <-chan store.Result, out *Result) (answers []answer) {
	ran := map[string]bool{}
	var causes []string
	for i, leg := range r.o.Sources {
		name := leg.Name()
		var why string
		switch rep := got[i]; {
		case rep != nil && rep.err == nil:
			ran[name] = true
			answers = append(answers, answer{name, rep.res})
			continue
		case rep != nil:
			why = rep.err.Error()
		case ctx.Err() != nil:
			why = "the turn ended first: " + context.Cause(ctx).Error()
		default:
			why = fmt.Sprintf("not there within %s", r.o.Deadline)
		}
		if rep := got[i]; rep == nil && name == SourceVector {
			out.Late = late
			if ctx.Err() == nil {
				out.Mode = ken.ModeLate
			}
		}
		out.Degraded = append(out.Degraded, name+": "+why)
		if name == SourceKeyword || name == SourceVector {
			causes = append(causes, name+": "+why)
		}
	}
	switch {
	case out.Mode == ken.ModeLate:
	case ran[SourceKeyword] && ran[SourceVector]:
		out.Mode = ken.ModeHybrid
	case ran[SourceKeyword]:
		out.Mode = ken.ModeKeyword
	case ran[SourceVector]:
		out.Mode = ken.ModeVector
	default:
		out.Mode = ken.ModeNone
	}
	out.Cause = strings.Join(causes, "; ")
	return answers
}
