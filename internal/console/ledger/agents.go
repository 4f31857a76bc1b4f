package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Agent is who asked for turns.
type Agent struct {
	Name  string
	Turns int
	Last  time.Time // when the newest was
}

// Agents lists who asked for turns, who asked last first. Turns without an agent count
// for nobody.
func (l *Ledger) Agents(owner string) (list []Agent) {
	at := map[string]int{}
	for _, t := range l.turns(owner) {
		if t.Agent == "" {
			continue
		}
		i, ok := at[t.Agent]
		if !ok {
			i = len(list)
			at[t.Agent] = i
			list = append(list, Agent{Name: t.Agent})
		}
		a := &list[i]
		if a.Turns++; t.At.After(a.Last) {
			a.Last = t.At
		}
	}
	slices.SortFunc(list, func(a, b Agent) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name)) })
	return list
}
