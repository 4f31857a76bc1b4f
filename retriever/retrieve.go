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

// Retriever searches one owner's projections. It is safe for concurrent use.
type Retriever struct {
	p store.Projections
	o Options
}

// New returns a retriever over p.
func New(p store.Projections, o Options) *Retriever {
	return &Retriever{p: p, o: o.withDefaults()}
}

// Turn is a query to a retriever.
type Turn struct {
	Signals ken.Signals
	Filter  ken.Filter // its Now is also used for decay; zero means no decay
	ID      string     // the turn's id, for Options.Learned
	Session string     // the turn's session, whose own episodes are left out
	// Began is the time at which the conversation began, if it uses the name of a session with
	// earlier conversations but does not contain their messages. Otherwise it is zero.
	Began time.Time
	Late  <-chan store.Result
	// Opens reports whether the conversation holds no block yet: see Options.Nearest.
	Opens bool

	// OnRules is called with the number of rules that apply, before the sources are asked; it may be
	// nil.
	OnRules func(n int)

	// The fields below are for Options.Structure: see structure.Signs.
	Text    string
	Project string
	Carried []string
	Named   []string
	Beside  []structure.Beside
	Done    []string
	Expand  bool // also search one dependency away from the entities that the turn names
}

// Retrieve queries every source and returns the best of their results. It returns at the deadline
// or at ctx's end at the latest. It never fails: errors are in the result.
//
// The structure search runs first and without that deadline. It is fast, and a rule must not be
// lost to a deadline.
func (r *Retriever) Retrieve(ctx context.Context, t Turn) Result {
	out := Result{MS: make(map[string]float64, len(r.o.Sources)+1)}
	r.searchStructure(ctx, &t, &out)
	if t.OnRules != nil {
		t.OnRules(len(out.Structure.Constraints))
	}
	answers := r.ask(ctx, &t, &out)
	if late, ok := receive(t.Late); ok {
		answers = append(answers, answer{SourceLate, store.Result{Hits: late.Hits}}) // the records it refused were cut by another turn's filter
	}
	r.choose(ctx, answers, &t, &out)
	return out
}

func receive(late <-chan store.Result) (res store.Result, ok bool) {
	select {
	case res, ok = <-late:
	default: // late is nil, or has no value yet
	}
	return res, ok && len(res.Hits) > 0
}

// choose fuses and ranks the answers, applies the floors, and records everything that was cut.
//
// Pinned records and fitting playbooks are memory, even if other sources found them too. Playbooks
// that don't fit are left out, even if other sources found them. A recent episode is memory only if
// it is not also relevant knowledge.
func (r *Retriever) choose(ctx context.Context, answers []answer, t *Turn, out *Result) {
	f := &t.Filter
	s := candidateFilter{p: r.p, f: f, out: out, decided: make(map[store.Ref]bool, count(answers))}
	ruled := r.rules(answers, &s) // first, so that nothing else can refuse or take them
	r.tasks(&s)
	for _, a := range answers {
		for _, c := range a.res.Cut {
			s.refuse(c.Ref, c.Reason)
		}
	}
	pinned, sessions, playbooks, found := bySource(answers)
	books := r.match(playbooks, found)
	out.Candidates = slices.Grow(out.Candidates, len(books.fits)+min(r.o.TopK, r.o.Pool, count(found))+count(pinned)+count(sessions))
	s.excluded = books.excluded
	if attributes := r.attributes(&out.Structure, ruled); len(attributes) > 0 {
		found = append(found, answer{SourceStructure, store.Result{Hits: attributes}})
	}
	r.addMemory(pinned, books.fits, &s)
	out.Memory = len(out.Candidates) - out.Rules
	var memory fusion
	defer memory.release()
	recent := s.admit(memory.fuse(sessions, r.o.K))
	s.readmit(recent)

	s.readmitRules(ruled)
	pool := s.admit(memory.fuse(found, r.o.K)) // records that are memory already are not admitted again
	out.Retrieved = out.Rules + out.Memory + countNonRules(pool, ruled)
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
			c.Row.Constraint = false // rules that apply are in the result already
			out.Candidates = append(out.Candidates, c)
		}
	}
	knowledge = r.likelyRules(knowledge, found, &s)
	for _, e := range knowledge {
		c := r.candidate(e, found, f)
		c.Memory, c.Signals = false, e.rank.signals()
		if len(c.Sources) == 0 { // added by likelyRules
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

// bySource separates the answers of the sources of memory from the others.
func bySource(answers []answer) (pinned, sessions, playbooks, found []answer) {
	for _, a := range answers {
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
	return pinned, sessions, playbooks, found
}

// addMemory adds the pinned records and the fitting playbooks to the candidates.
func (r *Retriever) addMemory(pinned []answer, playbooks []playbookMatch, s *candidateFilter) {
	add := func(c Candidate) {
		if row, ok := s.pass(c.Ref); ok {
			c.Row, c.Memory, c.Tier = row, true, r.tier(&row, s.f)
			s.out.Candidates = append(s.out.Candidates, c)
		}
	}
	for _, a := range pinned {
		for i, h := range a.res.Hits {
			add(Candidate{Ref: h.Ref, Sources: pinnedAt(i+1, finite(h.Score))})
		}
	}
	for i, m := range playbooks {
		add(Candidate{Ref: m.ref, Fused: m.score, Signals: m.signals(), Sources: map[string]ken.LegScore{SourcePlaybooks: {Rank: i + 1, Score: m.score}}})
	}
}

// best sorts the pool. It returns the records above the floor, at most TopK, and those for
// Options.Nearest. Rules that apply in any case count for the turn's evidence but are not returned.
func (r *Retriever) best(ctx context.Context, pool []*entry, found []answer, t *Turn, s *candidateFilter, ruled map[store.Ref]bool) (best, near []*entry) {
	pool = s.limitPool(pool, r.o.Pool, ruled)
	r.weigh(pool, found, t, s.out)
	weighFiles(pool)
	r.order(pool, found)
	r.rerank(ctx, pool, t, s.out)
	s.scoreRules(pool, ruled)
	pool = r.answers(ctx, pool, t, s, ruled)
	pool, near = r.floor(pool, found, t, s, ruled)
	near = r.nearest(near, len(pool), found, t, s)
	pool = r.distinct(ctx, pool, &t.Filter, s)
	pool = r.learned(pool, found, t, s.out)
	for _, e := range pool[min(len(pool), r.o.TopK):] {
		s.cut(e, ken.CutPool)
	}
	return pool[:min(len(pool), r.o.TopK)], near
}

// nearest returns the first facts below the floor that have a word of the question or are like it,
// and any facts for a question without keywords, such as "what is this about?". It returns them
// until a turn which opens a conversation has Options.Nearest claims; n are above the floor. It cuts
// the other records below the floor. Claims of external trust are not added this way.
func (r *Retriever) nearest(below []*entry, n int, found []answer, t *Turn, s *candidateFilter) []*entry {
	room := r.o.Nearest - n
	if !t.Opens {
		room = 0
	}
	near := below[:0]
	for _, e := range below {
		related := len(t.Signals.Keywords) == 0 || e.rank.totalShare() > 0 || e.rank.cosine+e.rank.near >= leastCosine
		if len(near) < room && related && e.row.Facts.Kind == ken.KindFact && e.row.Facts.Trust != ken.TrustExternal {
			near = append(near, e)
			continue
		}
		s.cut(e, floorReason(e, found))
	}
	return near
}

// candidate returns an entry as a memory candidate, without signals.
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

// usualPinned holds the Sources of pinned records by rank. A turn may have some hundred pinned
// records, and a new map for each would be half of its allocations.
var usualPinned = sync.OnceValue(func() []map[string]ken.LegScore {
	legs := make([]map[string]ken.LegScore, 256)
	for i := range legs {
		legs[i] = map[string]ken.LegScore{SourcePinned: {Rank: i + 1}}
	}
	return legs
})

// pinnedAt returns the Sources of a pinned record. Ranks begin at 1. The result is shared.
func pinnedAt(rank int, score float64) map[string]ken.LegScore {
	if usual := usualPinned(); score == 0 && rank <= len(usual) {
		return usual[rank-1]
	}
	return map[string]ken.LegScore{SourcePinned: {Rank: rank, Score: score}}
}

// tier returns a record's tier at the time of the filter.
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

// floorReason returns CutLate for an entry that only the late hits of the turn before contain, and
// CutFloor for others.
func floorReason(e *entry, answers []answer) ken.CutReason {
	for i, h := range e.hits {
		if h.rank > 0 && answers[i].name != SourceLate {
			return ken.CutFloor
		}
	}
	return ken.CutLate
}

// lateSource is how long a vector source may continue after the turn has stopped waiting for it.
const lateSource = 5 * time.Second

// sourceResult is the result of a source's goroutine.
type sourceResult struct {
	source int
	res    store.Result
	err    error
	ms     float64
}

// immediate marks a source that answers in microseconds, without a search. It runs in the turn's
// goroutine, beside the searches, because another goroutine would cost more than the work.
type immediate interface{ immediate() }

// ask runs the sources concurrently until the deadline. Each gets its own copy of the filter, so
// that none can change what another one uses.
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
		if _, ok := leg.(immediate); ok {
			continue
		}
		if ctx.Err() != nil { // nobody is waiting, not even for late hits
			break
		}
		run, stop := wait, context.CancelFunc(func() {})
		if leg.Name() == SourceVector { // it may finish after the turn; the next turn uses its hits
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
		if _, ok := leg.(immediate); ok && wait.Err() == nil {
			rep := search(wait, leg, &queries[i])
			rep.source = i
			replies <- rep
		}
	}
	got := make([]*sourceResult, len(r.o.Sources))
	for _, rep := range collect(replies, len(got), wait.Done()) {
		out.MS[r.o.Sources[rep.source].Name()] = rep.ms
		if wait.Err() == nil || !errors.Is(rep.err, wait.Err()) { // otherwise the source reports with its own error that it was late
			got[rep.source] = &rep
		}
	}
	return r.settle(ctx, got, late, out)
}

// collect receives n replies, or those that arrived before end is closed.
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

// search calls a source and converts a panic to an error.
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

// settle returns the answers, and sets the mode and the reason if it is less than configured. A
// reply that did not arrive is nil.
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
