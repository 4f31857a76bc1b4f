package config

// ScorerMode says when the order learned from use is in force.
type ScorerMode string

// When the learned order is in force.
const (
	ScorerAuto ScorerMode = "auto" // once it has proved to be better than the plain one
	ScorerOff  ScorerMode = "off"  // never, and nothing is explored
	ScorerOn   ScorerMode = "on"   // from the first turn that was learned from
)

// Learning is what is learned from which items answers used.
type Learning struct {
	Scorer ScorerMode
}

func (l *Learning) keys() []key {
	return []key{
		bind("scorer", &l.Scorer, ScorerAuto, choice(ScorerAuto, ScorerOff, ScorerOn),
			"Whether items are ordered by what answers used before. auto learns and logs, swaps the two items at the cut in one turn of twenty to "+
				"see what is left out, and changes the order once that has proved to be better on logged turns; see ken eval scorer. off does "+
				"none of it. Constraints are not reordered. Needs sessions and session.receipts. At most 20 turns a second are judged."),
	}
}
