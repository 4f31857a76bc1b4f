package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// forgottenCheck is what a check for forgotten claims found of one owner.
type forgottenCheck struct {
	Owner  string             `json:"owner"`
	Checks []middleware.Check `json:"checks"`
}

// checkForgotten looks for what was forgotten, and fails when anything is left.
func (a *app) checkForgotten(ctx context.Context, f checkFlags) error {
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p, func(*middleware.Options) {})
	if err != nil {
		return err
	}
	owners, err := a.ownersToCheck(l, f.all)
	var out []forgottenCheck
	var rows [][]string
	var failed error
	for _, owner := range owners {
		if err != nil {
			break
		}
		var checks []middleware.Check
		checks, err = l.CheckAllForgotten(ctx, owner)
		out = append(out, forgottenCheck{owner, checks})
		for _, c := range checks {
			state := "clean"
			if !c.Clean {
				state = "FOUND"
				failed = cmp.Or(failed, error(&ken.Error{Code: ken.CodeInternal, Msg: "something that was forgotten is still there, or there again",
					Try: "Look at what is named: forget it again, or edit your own file."}))
			}
			rows = append(rows, []string{state, owner, c.Name, cmp.Or(c.Detail, c.Where)})
		}
	}
	p.done()
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	if a.json {
		return errors.Join(a.printJSON(map[string]any{"stores": out}), failed)
	}
	a.printTable([]string{"FORGOTTEN", "OWNER", "PLACE", "FOUND"}, rows)
	return failed
}
