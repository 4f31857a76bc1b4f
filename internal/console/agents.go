package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/store"
)

// agentsBody lists who wrote claims, or was told some.
type agentsBody struct {
	Now    time.Time
	Agents []agentRow
}

type agentRow struct {
	Name   string
	Claims int // that it wrote
	Turns  int // of those that are remembered
	Last   time.Time
}

const mostAgents = 500

func agentsPage(v *visit) error {
	b := agentsBody{Now: v.now()}
	by := map[string]*agentRow{}
	of := func(name string) *agentRow {
		if by[name] == nil {
			by[name] = &agentRow{Name: name}
		}
		return by[name]
	}
	err := v.withStore(func(s store.Engine) error {
		if p, err := v.con.claims.Catch(v.ctx(), s); err != nil || !p.Ready {
			return err
		}
		values, err := v.con.claims.Values(s.Owner(), facet.Agent, "", mostAgents)
		for _, x := range values {
			of(x.Value).Claims = x.Count
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := v.remember(); err != nil {
		return err
	}
	for _, a := range v.con.turns.Agents(v.owner()) {
		r := of(a.Name)
		r.Turns, r.Last = a.Turns, a.Last
	}
	for _, r := range by {
		b.Agents = append(b.Agents, *r)
	}
	slices.SortFunc(b.Agents, func(a, b agentRow) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Claims, a.Claims), cmp.Compare(a.Name, b.Name))
	})
	return v.page("agents", page{Title: "Agents", Section: secStore, Tab: "Agents", Live: []string{liveTurns, liveClaims}, Body: b})
}

// agentBody is what an agent knows: the lens of an agent.
type agentBody struct {
	Now     time.Time
	Name    string
	Only    []row // claims that are for it alone
	OnlyAll int
	Wrote   []row // claims that it wrote
	WroteN  int
	Kinds   []facetValue // of what it wrote
	Turns   []ledger.Turn
	More    int
}

const claimsOfAnAgent = 15

func agentPage(v *visit) error {
	name := v.r.PathValue("name")
	b := agentBody{Now: v.now(), Name: name}
	err := v.withStore(func(s store.Engine) error {
		if p, err := v.con.claims.Catch(v.ctx(), s); err != nil || !p.Ready {
			return err
		}
		only, err := v.con.claims.Select(s.Owner(), facet.Selection{Scopes: []string{ken.Scope{Type: ken.ScopeAgent, ID: name}.String()}, Limit: claimsOfAnAgent})
		if err != nil {
			return err
		}
		wrote, err := v.con.claims.Select(s.Owner(), facet.Selection{Agents: []string{name}, Limit: claimsOfAnAgent})
		if err != nil {
			return err
		}
		b.OnlyAll, b.WroteN = only.Total, wrote.Total
		for _, f := range wrote.Facets {
			if f.Name == facet.Kind {
				for _, x := range f.Values {
					b.Kinds = append(b.Kinds, facetValue{Label: x.Value, Count: x.Count})
				}
			}
		}
		if b.Only, err = v.rows(s, only.IDs); err != nil {
			return err
		}
		b.Wrote, err = v.rows(s, wrote.IDs)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := v.remember(); err != nil {
		return err
	}
	b.Turns, b.More = v.con.turns.Turns(v.owner(), time.Time{}, turnsOfASession, ledger.Match{Agent: name})
	if len(b.Turns) == 0 && b.OnlyAll == 0 && b.WroteN == 0 {
		return &ken.Error{Code: ken.CodeNotFound, Field: "agent", Msg: "nothing is known of an agent of that name", Try: "Look at the list of agents."}
	}
	return v.page("agent", page{Title: "Agent", Section: secStore, Tab: "Agents", Live: []string{liveTurns, liveClaims}, Body: b})
}
