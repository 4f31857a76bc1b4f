package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
)

func token(t testing.TB, s string) plan.Token {
	t.Helper()
	tok, err := plan.ParseToken(s)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// agent parses "name: requires -> produces", with tokens separated by spaces.
func agent(t testing.TB, s string) plan.Agent {
	t.Helper()
	name, lists, _ := strings.Cut(s, ": ")
	requires, produces, _ := strings.Cut(lists, "->")
	a := plan.Agent{Name: name}
	for f := range strings.FieldsSeq(requires) {
		a.Requires = append(a.Requires, token(t, f))
	}
	for f := range strings.FieldsSeq(produces) {
		a.Produces = append(a.Produces, token(t, f))
	}
	return a
}

func agents(t testing.TB, lines ...string) (all []plan.Agent) {
	t.Helper()
	for _, l := range lines {
		all = append(all, agent(t, l))
	}
	return all
}

// existing returns a function that reports the given tokens as existing.
func existing(there ...string) func(plan.Token) bool {
	return func(t plan.Token) bool { return slices.Contains(there, t.String()) }
}

// faults returns the messages of an error. Each must have a Try.
func faults(t testing.TB, err error) (all []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not a list of faults: %v", err)
	}
	for _, err := range joined.Unwrap() {
		e, ok := errors.AsType[*ken.Error](err)
		if !ok || e.Code != ken.CodeInvalid || !strings.HasPrefix(e.Field, "agents[") || e.Msg == "" || e.Try == "" {
			t.Errorf("refused without saying where and how to go on: %#v", err)
		}
		all = append(all, err.Error())
	}
	return all
}

// names returns the names of the agents in each stage.
func names(p *plan.Plan) (all [][]string) {
	for _, stage := range p.Stages() {
		var of []string
		for _, s := range stage {
			of = append(of, s.Agent.Name)
		}
		all = append(all, of)
	}
	return all
}
