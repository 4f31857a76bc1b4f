package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/store"
)

// keysBody holds the data of the page: the usage of the keys, and the keys themselves for a
// person who may create them.
type keysBody struct {
	Now      time.Time
	Days     []choice
	Tables   []usedTable
	Warnings []string

	Manage bool
	First  bool // there is none yet, so that the first one closes the gateway
	Keys   []keyRow
	Rights []rightChoice
	Made   *madeKey // just now
}

// usedTable is usage summed up by one thing.
type usedTable struct {
	Title, By string
	Rows      []usedRow
	More      int // rows that are not shown
}

type usedRow struct {
	Name                                       string
	Requests, Input, Cached, Output, Unmetered int
	Cost                                       string
}

// keyRow is a key as a line of the list.
type keyRow struct {
	operator.Key
	Owner, Rights, Models, Limits string
	State, Tone                   string
	Configured                    bool // it stands in the configuration
	Open                          bool // it can be revoked
}

type rightChoice struct {
	Right access.Right
	On    bool
}

// madeKey is a key that is shown this once.
type madeKey struct{ Name, Secret string }

const (
	usageDays = 30
	mostUsed  = 50 // rows of a table
)

func keysPage(v *visit) error { return v.keys(nil) }

func (v *visit) keys(made *madeKey) error {
	b := keysBody{Now: v.now(), Made: made, Manage: v.managesKeys()}
	days := v.number("days", usageDays, 1, 366)
	for _, n := range []int{1, 7, usageDays, 366} {
		name := "Last " + plural(n, "day", "days")
		if n == 1 {
			name = "Today"
		}
		b.Days = append(b.Days, choice{Name: name, Path: pathOf("keys") + "?days=" + strconv.Itoa(n), Here: n == days})
	}
	if err := v.used(&b, days); err != nil {
		return err
	}
	if b.Manage {
		if err := v.listKeys(&b); err != nil {
			return err
		}
	}
	return v.page("keys", page{Title: "Keys and usage", Section: secHealth, Tab: "Keys", Body: b})
}

// managesKeys reports whether the visitor may hand out keys: an operator of the configured
// owner without limits. Another owner's could open that owner's knowledge.
func (v *visit) managesKeys() bool {
	return v.con.o.Keys != nil && v.operates() && v.owner() == v.con.l.Config().Knowledge.Owner && !v.who.Limited()
}

// used sums up the usage that the visitor may see.
func (v *visit) used(b *keysBody, days int) error {
	if v.con.o.Usage == nil {
		return nil
	}
	rows, err := v.con.o.Usage.Rows(days)
	if b.Warnings, err = missing(err); err != nil {
		return err
	}
	configured := v.con.l.Config().Knowledge.Owner
	rows = slices.DeleteFunc(rows, func(r usage.Row) bool { return !usage.Visible(&r, v.who, configured) })
	for _, t := range []struct {
		title, by string
		of        func(*usage.Row) string
	}{
		{"By key", "Key", func(r *usage.Row) string { return r.Key + " (" + r.Owner + ")" }},
		{"By model", "Model", func(r *usage.Row) string { return cmp.Or(r.Model, "none answered") }},
		{"By day", "Day", func(r *usage.Row) string { return r.Day }},
	} {
		if len(rows) > 0 {
			b.Tables = append(b.Tables, summed(t.title, t.by, rows, t.of))
		}
	}
	return nil
}

func summed(title, by string, rows []usage.Row, of func(*usage.Row) string) usedTable {
	sums := map[string]*usage.Row{}
	var names []string
	for i := range rows {
		r := &rows[i]
		name := of(r)
		s := sums[name]
		if s == nil {
			s = &usage.Row{}
			sums[name] = s
			names = append(names, name)
		}
		s.Add(r)
	}
	if by != "Day" { // days are in order
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b].Input+sums[b].Output, sums[a].Input+sums[a].Output) })
	}
	t := usedTable{Title: title, By: by, More: max(0, len(names)-mostUsed)}
	for _, name := range names[:len(names)-t.More] {
		s := sums[name]
		t.Rows = append(t.Rows, usedRow{Name: name, Requests: int(s.Requests), Input: int(s.Input), Cached: int(s.Cached), Output: int(s.Output),
			Unmetered: int(s.Unmetered), Cost: cost(s)})
	}
	return t
}

// cost formats the cost of a row, in the currency of gateway.prices. It names requests
// without a price, and guesses none.
func cost(r *usage.Row) string {
	var parts []string
	if r.Cost > 0 {
		parts = append(parts, strconv.FormatFloat(r.Cost, 'f', 4, 64))
	}
	if r.Unpriced > 0 {
		parts = append(parts, plural(int(r.Unpriced), "request", "requests")+" without a price")
	}
	return cmp.Or(strings.Join(parts, ", and "), "–")
}

// listKeys lists the keys, and what a new one may have.
func (v *visit) listKeys(b *keysBody) error {
	list, err := v.con.o.Keys.List()
	if err != nil {
		return err
	}
	cfg := v.con.l.Config()
	for _, k := range list {
		b.Keys = append(b.Keys, v.rowOfKey(k, false))
	}
	for _, k := range cfg.Gateway.Keys {
		b.Keys = append(b.Keys, v.rowOfKey(operator.Key{GatewayKey: k}, true))
	}
	b.First = len(b.Keys) == 0
	for _, r := range access.Rights() {
		if v.who.Can(r) {
			b.Rights = append(b.Rights, rightChoice{r, r != access.Operate && r != access.Upstream})
		}
	}
	return nil
}

func (v *visit) rowOfKey(k operator.Key, configured bool) keyRow {
	row := keyRow{Key: k, Configured: configured, Owner: cmp.Or(k.Owner, v.con.l.Config().Knowledge.Owner), Rights: cmp.Or(strings.Join(k.Rights, ", "), "chat, read, write"),
		Models: cmp.Or(strings.Join(k.Models, ", "), "all models"), State: "valid", Tone: toneSuccess}
	var limits []string
	if k.RequestsPerDay > 0 {
		limits = append(limits, plural(k.RequestsPerDay, "request", "requests")+" a day")
	}
	if k.TokensPerDay > 0 {
		limits = append(limits, plural(k.TokensPerDay, "token", "tokens")+" a day")
	}
	row.Limits = strings.Join(limits, ", ")
	switch {
	case !k.Revoked.IsZero():
		row.State, row.Tone = "revoked", ""
	case k.Ended(v.now()):
		row.State, row.Tone = "ended", ""
	}
	row.Open = k.Revoked.IsZero() && !configured
	return row
}

var errKeys = &ken.Error{Code: ken.CodeRefused, Msg: "keys are handed out by an operator of the configured owner, whose own key has no limits",
	Try: "Ask who runs the gateway, or use ken key create where it runs."}

// createKey makes a key, and shows it in the answer to the form alone.
func createKey(v *visit) error {
	if !v.managesKeys() {
		return errKeys
	}
	k := config.GatewayKey{Name: strings.TrimSpace(v.text("name")), Owner: strings.TrimSpace(v.text("owner")), Project: strings.TrimSpace(v.text("project")),
		Models: commas(v.text("models")), Rights: v.r.PostForm["rights"]}
	for _, r := range k.Rights {
		if right, err := access.ParseRight(r); err != nil || !v.who.Can(right) {
			return cmp.Or(err, v.who.Need(right))
		}
	}
	if len(k.Rights) == 0 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "rights", Msg: "a key without rights opens nothing", Try: "Choose one at least."}
	}
	var days int
	for _, f := range []struct {
		name string
		to   *int
		most int
	}{{"ends", &days, 36500}, {"requests", &k.RequestsPerDay, 1e12}, {"tokens", &k.TokensPerDay, 1e12}} {
		s := strings.TrimSpace(v.text(f.name))
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > f.most {
			return &ken.Error{Code: ken.CodeInvalid, Field: f.name, Msg: "not a whole number above 0", Try: "Leave it empty for no limit."}
		}
		*f.to = n
	}
	if days > 0 {
		k.Expires = v.now().UTC().Truncate(time.Second).AddDate(0, 0, days)
	}
	secret, made, err := v.con.o.Keys.Create(v.ctx(), k, v.con.l.Config().Gateway.Keys)
	if err != nil {
		return err
	}
	v.con.o.Log.Info("a key was handed out", "key", made.Name, "by", v.who.Name)
	return v.keys(&madeKey{made.Name, secret})
}

func revokeKey(v *visit) error {
	if !v.managesKeys() {
		return errKeys
	}
	k, err := v.con.o.Keys.Revoke(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	v.con.o.Log.Info("a key was revoked", "key", k.Name, "by", v.who.Name)
	return v.did(pathOf("keys"), "revoked")
}

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
