package retriever

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Signals of records found through the structure.
const (
	SignalStructure = "structure" // aspect weight times nearness, 0..1; for a rule, the strength of the dependency, 1 if there is none
	SignalDistance  = "distance"  // number of dependencies between the record's entity and the turn's: 0 or 1
)

// structureWait is how long the structure search may take. It usually takes less than a
// millisecond. The limit is for a store whose holder does not answer. The turn's deadline does not
// apply.
const structureWait = time.Second

// searchStructure finds the turn's entities, and the rules and attributes under them. A turn without a
// question gets nothing; one that resumes its session gets the rules about the session's entities.
func (r *Retriever) searchStructure(ctx context.Context, t *Turn, out *Result) {
	if r.o.Structure == nil || !t.Signals.Asks && !t.Signals.Resumes {
		return
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), structureWait)
	defer cancel()
	if err := r.traverse(ctx, t, out); err != nil {
		out.Focal, out.Structure = nil, structure.Traversal{}
		out.Degraded = append(out.Degraded, SourceStructure+": "+err.Error())
	}
	if !t.Signals.Asks {
		out.Structure.Attributes, out.Structure.Candidates = nil, nil
	}
	out.MS[SourceStructure] = float64(time.Since(start)) / float64(time.Millisecond)
}

// traverse sets out.Focal and out.Structure. It converts a panic to an error.
func (r *Retriever) traverse(ctx context.Context, t *Turn, out *Result) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f, b := t.Filter, r.o.Structure.Bounds
	b.Expand = t.Expand
	signs := structure.Signs{Signals: t.Signals, Text: t.Text, Project: t.Project, Scopes: f.Scopes, Carried: t.Carried,
		Named: t.Named, Beside: t.Beside, Done: t.Done}
	out.Focal, out.Structure, err = structure.New(r.p, r.o.Structure.Utility).Look(ctx, signs, &f, b)
	return err
}

// rules adds the applying constraints to the result, in their order, and returns their refs. They
// don't count for Pool, Floor or TopK.
func (r *Retriever) rules(answers []answer, s *candidateFilter) map[store.Ref]bool {
	list := s.out.Structure.Constraints
	if len(list) == 0 || r.o.Structure.MatchRules {
		return nil
	}
	ruled := make(map[store.Ref]bool, len(list))
	for i := range list {
		c := &list[i]
		row, ok := s.pass(c.Ref)
		if !ok { // it changed since the structure search
			continue
		}
		if !row.Constraint {
			delete(s.decided, c.Ref)
			continue
		}
		ruled[c.Ref] = true
		strength := 1.0
		if c.Via != nil {
			strength = c.Via.Strength
		}
		s.out.Candidates = append(s.out.Candidates, Candidate{Ref: c.Ref, Row: row, Tier: r.tier(&row, s.f), Constraint: true, Distance: c.Distance,
			Sources: map[string]ken.LegScore{SourceStructure: {Rank: i + 1, Score: strength}},
			Signals: map[string]float64{SignalStructure: strength, SignalDistance: float64(c.Distance)}})
	}
	s.out.Rules = len(s.out.Candidates)
	at := make(map[store.Ref]int, len(ruled))
	for i := range s.out.Candidates {
		at[s.out.Candidates[i].Ref] = i
	}
	for _, a := range answers { // record the other sources that found the rule
		for rank, h := range a.res.Hits {
			if i, ok := at[h.Ref]; ok {
				if legs := s.out.Candidates[i].Sources; legs[a.name].Rank == 0 {
					legs[a.name] = ken.LegScore{Rank: rank + 1, Score: finite(h.Score)}
				}
			}
		}
	}
	return ruled
}

// likelyRules moves facts that may be rules about an entity that the turn names before other facts,
// and adds those that were not found: a rule rarely has the words of a question.
func (r *Retriever) likelyRules(knowledge []*entry, found []answer, s *candidateFilter) []*entry {
	list := s.out.Structure.Candidates
	if len(list) == 0 {
		return knowledge
	}
	first := make([]*entry, 0, len(list)+len(knowledge))
	for _, ref := range list {
		if i := slices.IndexFunc(knowledge, func(e *entry) bool { return e.ref == ref }); i >= 0 {
			first = append(first, knowledge[i])
			continue
		}
		row, ok := s.p.Row(ref)
		if !ok || row.Constraint || s.f.Reject(row.Facts) != "" || s.excluded[ref] != "" || slices.ContainsFunc(s.out.Candidates, func(c Candidate) bool { return c.Ref == ref }) {
			continue
		}
		if slices.ContainsFunc(s.out.Cut, func(c ken.Cut) bool { return c.ID == row.ID && c.Reason == ken.CutDuplicate }) {
			continue
		}
		if s.decided[ref] { // it was cut before
			s.out.Cut = slices.DeleteFunc(s.out.Cut, func(c ken.Cut) bool { return c.ID == row.ID })
		} else {
			s.out.Retrieved++
		}
		s.decided[ref] = true
		first = append(first, &entry{ref: ref, row: row, hits: make([]hit, len(found))})
	}
	for _, e := range knowledge {
		if !slices.Contains(first, e) {
			first = append(first, e)
		}
	}
	return first
}

// attributes returns the attributes of the traversal as hits, best first.
func (r *Retriever) attributes(t *structure.Traversal, ruled map[store.Ref]bool) (hits []store.Hit) {
	limit := r.o.limit(SourceStructure)
	for i := range t.Attributes {
		if a := &t.Attributes[i]; len(hits) < limit && !ruled[a.Ref] {
			hits = append(hits, store.Hit{Ref: a.Ref, Score: a.Near * a.Weight})
		}
	}
	return hits
}

// place sets the position of each entry among the turn's entities, whichever source found it, and
// the part of the question that its entity's name has.
func (r *Retriever) place(pool []*entry, answers []answer, t *structure.Traversal) {
	if len(t.Attributes) == 0 {
		return
	}
	at := make(map[store.Ref]*structure.Attribute, len(t.Attributes))
	for i := range t.Attributes {
		at[t.Attributes[i].Ref] = &t.Attributes[i]
	}
	worth := map[string]float64{}
	for _, e := range pool {
		a := at[e.ref]
		if e.rank.place = a; a == nil || a.Named == "" || a.Distance > 0 {
			continue
		}
		if _, known := worth[a.Named]; !known {
			worth[a.Named] = nameShare(a.Named, answers)
		}
		e.rank.named = worth[a.Named]
	}
}

// nameShare returns the part of the query's terms that a name has, with the keyword source's
// weights; 0 without that source.
func nameShare(name string, answers []answer) (share float64) {
	for _, a := range answers {
		if a.name != SourceKeyword {
			continue
		}
		for _, term := range analysis.Terms(name) {
			for i, t := range a.res.Terms[:min(len(a.res.Terms), len(a.res.Values))] {
				if t == term {
					share += float64(a.res.Values[i])
				}
			}
		}
	}
	return min(1, share)
}

// structured returns the score for a record's position: the weight of its aspect times the nearness
// of its entity, 0..1.
func (r *ranking) structured() float64 {
	if r.place == nil {
		return 0
	}
	return r.place.Weight * r.place.Near
}

func countNonRules(pool []*entry, ruled map[store.Ref]bool) (n int) {
	for _, e := range pool {
		if !ruled[e.ref] {
			n++
		}
	}
	return n
}

// mostTasks is the maximum number of tasks in a turn.
const mostTasks = 10

// tasks adds the tasks of the turn's entities as memory: they don't answer a question, but are
// useful to know when working on the entity.
func (r *Retriever) tasks(s *candidateFilter) {
	f := *s.f
	f.Structural = true // tasks are entities, which no source finds by words
	list := s.out.Structure.Tasks
	for i, t := range list[:min(len(list), mostTasks)] {
		row, ok := s.p.Row(t.Ref)
		if !ok || s.decided[t.Ref] || f.Reject(row.Facts) != "" {
			continue
		}
		s.decided[t.Ref] = true
		s.out.Candidates = append(s.out.Candidates, Candidate{Ref: t.Ref, Row: row, Memory: true, Tier: r.tier(&row, s.f),
			Sources: map[string]ken.LegScore{SourceStructure: {Rank: i + 1, Score: 1}}})
	}
}

// DefaultSessions is the number of episodes that the sessions source finds, unless Options.Limits
// has another. It is meant for recent work, not for the whole history.
const DefaultSessions = 3

// Sessions returns the source of recent sessions. It finds the newest episodes, newest first,
// whatever the question. It leaves out those of the turn's own session, unless they are from before
// the conversation began.
func Sessions(p store.Projections) Source { return sessionsSource{p} }

type sessionsSource struct{ p store.Projections }

func (sessionsSource) Name() string { return SourceSessions }

func (sessionsSource) immediate() {}

func (l sessionsSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	f, ok := narrowed(q.Filter, ken.KindEpisode)
	if !ok {
		return store.Result{}, nil
	}
	for n := q.Limit + 1; ; n *= 4 { // a long session may have several episodes
		res, err := l.p.Newest(ctx, &f, n)
		if err != nil {
			return res, err
		}
		whole := len(res.Hits) < n
		if res.Hits, err = l.others(ctx, res.Hits, q); err != nil {
			return res, err
		}
		if whole || len(res.Hits) == q.Limit {
			return res, nil
		}
	}
}

// others returns the first hits that belong to other sessions, at most q.Limit.
func (l sessionsSource) others(ctx context.Context, hits []store.Hit, q *Query) ([]store.Hit, error) {
	if q.Session != "" {
		ahead := make([]store.Ref, min(len(hits), q.Limit+1)) // usually enough
		for i := range ahead {
			ahead[i] = hits[i].Ref
		}
		store.Fetch(ctx, l.p, ahead)
	}
	out := hits[:0]
	for _, h := range hits {
		if len(out) == q.Limit {
			break
		}
		if q.Session != "" {
			switch c, err := l.p.Claim(ctx, h.Ref); {
			case errors.Is(err, ken.ErrNotFound): // deleted since the search
				continue
			case err != nil:
				return nil, err
			case c.Session == q.Session && !c.CreatedAt.Before(q.Began):
				continue
			}
		}
		out = append(out, h)
	}
	return out, nil
}
