package retriever

import "github.com/kenlayer/ken"

// mostTasks is how many tasks a turn is reminded of, at most.
const mostTasks = 10

// tasks lets those of the turn's entities through, as memory: what is to be done
// about a thing is no answer to a question, and good to know while working on it.
func (r *Retriever) tasks(s *sieve) {
	f := *s.f
	f.Structural = true // a task is an entity, which no leg finds by its words
	list := s.out.Structure.Tasks
	for i, t := range list[:min(len(list), mostTasks)] {
		row, ok := s.p.Row(t.Ref)
		if !ok || s.told[t.Ref] || f.Reject(row.Facts) != "" {
			continue
		}
		s.told[t.Ref] = true
		s.out.Candidates = append(s.out.Candidates, Candidate{Ref: t.Ref, Row: row, Memory: true, Tier: r.tier(&row, s.f),
			Legs: map[string]ken.LegScore{LegStructure: {Rank: i + 1, Score: 1}}})
	}
}
