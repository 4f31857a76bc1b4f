package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// ownKey describes the visitor's own key: its rights, and its usage today.
type ownKey struct {
	access.Principal
	Rights, Models string
	Budgets        []budgetView
}

// budgetView is a limit of a key, and today's use of it.
type budgetView struct {
	Name        string
	Used, Limit int
	Tone        string
}

// memberRow is an owner with the keys of that owner and their usage.
type memberRow struct {
	Owner string
	Keys  []string // names of the valid keys
	Ended int      // number of revoked and expired keys
	usageRow
}

// ownKey returns the visitor's key; nil without keys.
func (v *visit) ownKey() *ownKey {
	if v.con.ring.Load() == nil {
		return nil
	}
	p := v.principal
	rights := mapped(p.Rights, func(r *access.Right) string { return string(*r) })
	return &ownKey{Principal: p, Rights: strings.Join(rights, ", "), Models: cmp.Or(strings.Join(p.Models, ", "), "all models"),
		Budgets: v.budgets(p.Name, p.RequestsPerDay, p.TokensPerDay)}
}

// budgets returns the limits of a key, with today's use.
func (v *visit) budgets(key string, requests, tokens int) (out []budgetView) {
	if v.con.opts.Usage == nil {
		return nil
	}
	usedRequests, usedTokens := v.con.opts.Usage.Spent(key)
	for _, b := range []budgetView{{Name: "requests today", Used: int(usedRequests), Limit: requests}, {Name: "tokens today", Used: int(usedTokens), Limit: tokens}} {
		if b.Limit <= 0 {
			continue
		}
		switch {
		case b.Used >= b.Limit:
			b.Tone = toneDanger
		case float64(b.Used) >= nearLimit*float64(b.Limit):
			b.Tone = toneWarning
		}
		out = append(out, b)
	}
	return out
}

// nearLimit is the share of a limit from which it is shown as nearly reached.
const nearLimit = 0.8

// membersOf lists the owners of the keys and of the usage, the largest usage first.
func membersOf(keys []keyRow, rows []usage.Row) []memberRow {
	by := map[string]*memberRow{}
	of := func(owner string) *memberRow {
		if by[owner] == nil {
			by[owner] = &memberRow{Owner: owner}
		}
		return by[owner]
	}
	for i := range keys {
		m := of(keys[i].Owner)
		if keys[i].State == stateValid {
			m.Keys = append(m.Keys, keys[i].Name)
		} else {
			m.Ended++
		}
	}
	for _, r := range sumUsage("", "Owner", rows, func(r *usage.Row) string { return r.Owner }).Rows {
		of(r.Name).usageRow = r
	}
	out := make([]memberRow, 0, len(by))
	for _, m := range by {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b memberRow) int {
		return cmp.Or(cmp.Compare(b.Input+b.Output, a.Input+a.Output), cmp.Compare(a.Owner, b.Owner))
	})
	return out
}
