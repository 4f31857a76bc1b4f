package console

import (
	"fmt"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
)

// changingDecision is a handler that changes the file of the decision of the path, and
// goes on to its page.
func changingDecision(change func(v *visit, reg *decision.Registry, r *decision.Record) (now decision.Record, did string, err error)) func(*visit) error {
	return func(v *visit) error {
		reg, err := v.decisions()
		if err != nil {
			return err
		}
		r, err := reg.Find(v.r.PathValue("id"))
		if err != nil {
			return err
		}
		if seen := v.said("hash"); seen != "" && seen != r.Hash {
			return changedMeanwhile(r.Path)
		}
		now, did, err := change(v, reg, &r)
		if err != nil {
			return err
		}
		v.con.govern()
		return v.did(decisionPath(&now), did)
	}
}

// changedMeanwhile refuses to change a file that says something else than the page with
// the form did: who decides has not read it.
func changedMeanwhile(file string) error {
	return &ken.Error{Code: ken.CodeExists, Msg: file + " has changed since the page was made", Try: "Read it as it is now, and decide again."}
}

func moveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	to, err := decisionStatus(v.said("to"))
	if err != nil {
		return *r, "", err
	}
	now, err := reg.SetStatus(v.ctx(), r.Path, to)
	return now, "moved", err
}

// supersedeDecision stays at the one that was superseded: what took its place is a link
// away.
func supersedeDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	by := v.said("by")
	if by == "" {
		return *r, "", &ken.Error{Code: ken.CodeInvalid, Field: "by", Msg: "nothing is named that takes its place", Try: "Name a decision that is there, or write a new one."}
	}
	was, _, err := reg.Supersede(v.ctx(), r.Path, by)
	return was, "succeeded", err
}

func archiveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	now, err := reg.Archive(v.ctx(), r.Path)
	return now, "shelved", err
}

// decisionStatus reads a status that a person may give.
func decisionStatus(s string) (decision.Status, error) {
	var names []string
	for _, st := range decision.Statuses() {
		if st == decision.Superseded {
			continue
		}
		if s == string(st) {
			return st, nil
		}
		names = append(names, string(st))
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is no status that can be given", s), Try: "Use one of " + strings.Join(names, ", ") + "."}
}
