// Package plan orders agents by what they produce and require: an agent that requires
// something runs after the agent that produces it.
//
// What is produced and required are tokens: artifact:NAME for what is agreed upon by
// its name alone, file:PATH for a file or folder of the project, symbol:NAME for a
// symbol of its code. A file or symbol that is there already needs no producer: it is
// met from outside. One that is not, and that nobody produces, is a fault, as are a
// cycle and two producers of one token.
//
//	p, err := plan.New(agents, func(t plan.Token) bool { return there(t) })
//	for _, stage := range p.Stages() { … } // those of a stage need nothing of each other
//
// Two producers of one token are refused, because what a file holds in the end would
// depend on which of them came last. Who wants to wait for both requires a token of
// each.
//
// Everything here is a pure function: the order depends on the agents and on what is
// there, and on nothing else. Package internal/code/plan/runner carries a plan out.
package plan
