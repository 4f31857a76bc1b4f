package classify

import "context"

// Gate is a gate that tests may use.
type Gate struct{ g modelBackoff }

func NewGate() *Gate { return &Gate{} }

func (g *Gate) Enter(ctx context.Context) error { return g.g.waitUntilAllowed(ctx) }

func (g *Gate) Leave(err error) { g.g.recordOutcome(err) }

// Verdicts reads the rows of pass 2a.
func Verdicts(text string, n int) map[int]string {
	out := map[int]string{}
	for i, v := range verdicts(text, n) {
		out[i] = v.aspect
	}
	return out
}

// Ties counts the rows of pass 2b.
func Ties(text string, n int) map[int]int {
	out := map[int]int{}
	for i, list := range dependencyRows(text, n) {
		out[i] = len(list)
	}
	return out
}

// SpellAspect spells an aspect.
func SpellAspect(raw string) string { return spellAspect(raw) }
