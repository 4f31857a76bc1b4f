// Package plan orders agents by what they produce and require: an agent that requires
// something runs after the agent that produces it.
//
// Agents produce and require tokens: artifact:NAME for something known by its name alone, file:PATH for a file or
// folder of the project, symbol:NAME for a symbol of its code. A file or symbol that exists already needs no producer.
// It is an error if a required file or symbol does not exist and no agent produces it. Cycles and two producers of one
// token are errors, too.
//
//	p, err := plan.New(agents, func(t plan.Token) bool { return there(t) })
//	for _, stage := range p.Stages() { … } // agents of one stage do not depend on each other
//
// Two producers of one token are refused, because the content of a file would depend on which of them ran last. An
// agent that must wait for both requires a token of each.
//
// All functions are pure: the order depends only on the agents and on what exists. Package internal/code/plan/runner
// runs a plan.
package plan
