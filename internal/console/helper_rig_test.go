package console_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/access"
)

// everyPage is the address of each page that can be looked at, in the rig's project.
func (c *rig) everyPage() []string {
	p := c.project
	out := []string{"", "claims", "sessions", "agents", "changes", "files", "turns", "try", "review", "attention", "entities", "tasks", "code", "decisions",
		"objectives", "drift", "health", "jobs", "sweeps", "keys"}
	if p.Claims != nil {
		turn := p.Turns["today 2"]
		out = append(out, "claims?q=ledger&kind=fact", "claims/"+p.Claims["wrong fact"], "claims/"+p.Claims["hostile script"]+"/forget", "claims/new",
			"sessions/"+p.Sessions["today"], "agents/"+url.PathEscape(p.Agents[0]), "files?path="+url.QueryEscape(p.Files[0]), "turns/"+turn,
			"turns/"+turn+"/replay", "turns/"+turn+"/whatif", "try?text=how+does+the+ledger+retry", "entities/"+url.PathEscape(p.Entities[0]),
			"decisions/"+p.Decisions[0], "objectives/"+p.Objectives[0], "attention?all=1")
	}
	return out
}

// Every page is there, for an operator of the furnished project and for one whose project
// has nothing in it, while somebody else looks at others and agents work.
func TestPagesOfNavigation(t *testing.T) {
	for name, c := range map[string]*rig{"furnished": open(t, raced), "empty": open(t, raced, bare)} {
		var all sync.WaitGroup
		all.Go(func() {
			for range 5 {
				c.learn(operator.Owner, "While somebody looks.")
			}
		})
		for _, who := range []access.Principal{operator, {Name: "second", Owner: operator.Owner, Rights: access.Rights()}} {
			all.Go(func() {
				for _, path := range c.everyPage() {
					if status, p := get(t, c, "/console/"+path, who); status != http.StatusOK {
						t.Errorf("%s, %s: %d: %s", path, name, status, p.text())
					}
				}
			})
		}
		all.Wait()
	}
}
