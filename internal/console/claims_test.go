package console_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// claimLinks are the ids of the claims that a list shows, in its order.
func (p *page) claimLinks() (ids []string) {
	p.Helper()
	for _, n := range p.all("article[data-item] h3 a") {
		if id, ok := strings.CutPrefix(attr(n, "href"), "/console/claims/"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestClaimsAreListedAndCounted(t *testing.T) {
	c := open(t, bare)
	first := c.learn(ken.DefaultOwner, "The ledger is append only.", func(k *ken.Claim) { k.Tags = []string{"ledger"} })
	second := c.learn(ken.DefaultOwner, "Refunds take two days.", func(k *ken.Claim) { k.Tags = []string{"refunds"}; k.Status = ken.StatusHypothesis })
	c.learn(bob.Owner, "What bob alone knows.")
	_, p := get(t, c, "/console/claims")
	if got := p.claimLinks(); len(got) != 2 || !slices.Contains(got, first) || !slices.Contains(got, second) {
		t.Errorf("listed: %v", got)
	}
	p.says("2 claims", "append only", "hypothesis")
	p.hides("bob alone")
	if got := p.texts(".facets summary"); len(got) == 0 || got[0] != "Rule" || !hasAttr(p.all(".facets details")[0], "open") {
		t.Errorf("rules are not the first facet: %v", got)
	}
	_, p = get(t, c, "/console/claims?tag=ledger")
	if got := p.claimLinks(); !slices.Equal(got, []string{first}) {
		t.Errorf("with the tag: %v", got)
	}
	if !p.links("/console/claims") {
		t.Error("nothing leads back to all claims")
	}
	// The counts of a facet say what choosing one more of its values would show.
	if got := strings.Join(p.texts(".facets a"), "\n"); !strings.Contains(got, "refunds 1") || strings.Contains(got, "hypothesis") {
		t.Errorf("facets: %s", got)
	}
	_, p = get(t, c, "/console/claims?tag=ledger&status=hypothesis")
	p.says("No claim has all of this")
	if status, _ := get(t, c, "/console/claims?order=nonsense"); status != http.StatusBadRequest {
		t.Errorf("an order that there is not: %d", status)
	}
	for _, wrong := range []string{"claims?before=nonsense", "claims?constraint=true", "changes?since=zz", "changes?since=2026-99-01", "changes?span=zz"} {
		if status, _ := get(t, c, "/console/"+wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, status)
		}
	}
}

func TestClaimsHavePages(t *testing.T) {
	c := open(t)
	seen := map[string]bool{}
	path := "/console/claims"
	for n := 0; path != ""; n++ {
		status, p := get(t, c, path)
		if status != http.StatusOK || n > 20 {
			t.Fatalf("%s: %d", path, status)
		}
		for _, id := range p.claimLinks() {
			if seen[id] {
				t.Errorf("%s is listed twice", id)
			}
			seen[id] = true
		}
		path = ""
		if next := p.all(`a[rel="next"]`); len(next) > 0 {
			path = attr(next[0], "href")
		}
	}
	for name, id := range c.project.Claims {
		if !seen[id] && name != "goal" {
			t.Errorf("the claim %q is on no page", name)
		}
	}
}

func TestClaimsAreSearched(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/claims?q=how+often+are+calls+to+the+bank+retried")
	found := p.claimLinks()
	if !slices.Contains(found, c.project.Claims["retry five"]) {
		t.Errorf("found %v: %s", found, p.text())
	}
	p.hides(c.project.Markers.Other)
	narrow := attr(p.all(".facets a")[0], "href")
	if u, err := url.Parse(narrow); err != nil || u.Query().Get("q") == "" {
		t.Errorf("narrowing loses the question: %s", narrow)
	}
	_, p = get(t, open(t, bare), "/console/claims?q=anything")
	p.says("Nothing matches: no claim")
	_, p = get(t, c, "/console/claims?q=zzzzqqq")
	p.says("Nothing matches", "Nearest by meaning", "Look for the words elsewhere")
	if n := len(p.claimLinks()); n == 0 || n > 5 || !p.links("/console/turns?q=zzzzqqq") || !p.links("/console/entities?q=zzzzqqq") {
		t.Errorf("%d claims: %s", n, p.text())
	}
	_, p = get(t, c, "/console/claims?q=zzzzqqq", reader)
	p.hides("/console/turns?q=")
	_, p = get(t, c, "/console/claims?q=zzzzqqq+ledger")
	p.hides("Nothing matches")
	_, p = get(t, c, "/console/claims?q=%3Cscript%3Ealert(1)%3C/script%3E")
	if strings.Contains(p.body, "<script>alert") {
		t.Error("the question is markup")
	}
}

func TestSearchFindsAClaimByItsID(t *testing.T) {
	c := open(t)
	id := c.project.Claims["human"]
	for _, q := range []string{id, id[len(id)-6:], strings.ToUpper(id), "http://127.0.0.1:8484/console/claims/" + id} {
		_, p := get(t, c, "/console/claims?q="+url.QueryEscape(q))
		p.hides("Nothing matches")
		if got := p.claimLinks(); len(got) == 0 || got[0] != id {
			t.Errorf("%s: %v", q, got)
		}
	}
	_, p := get(t, c, "/console/claims?q=00000000-0000-0000-0000-000000000000")
	if got := p.claimLinks(); slices.Contains(got[:min(len(got), 1)], id) {
		t.Errorf("an id that there is not: %v", got)
	}
}

// A search finds the rules that match, and not every rule that a turn would get.
func TestSearchMatchesRules(t *testing.T) {
	c := open(t, bare)
	project := filepath.Base(c.project.Dir) // every turn gets the rules about it
	rule := func(k *ken.Claim) {
		k.Constraint, k.Entities, k.Evidence = true, []string{project, "ledger"}, []ken.Evidence{ken.FromHumanAssertion("ana", now, "")}
	}
	refund := c.learn(ken.DefaultOwner, "Refunds of more than a thousand euros need Ana's signature.", rule)
	c.learn(ken.DefaultOwner, "Amounts are whole cents, never floats.", rule)
	c.learn(ken.DefaultOwner, "Nobody writes to the journal by hand.", rule)
	kitchen := c.learn(ken.DefaultOwner, "The kitchen is on the second floor.")
	for q, want := range map[string][]string{"kitchen": {kitchen}, "refunds": {refund}, "signature of Ana": {refund}} {
		_, p := get(t, c, "/console/claims?q="+url.QueryEscape(q))
		if got := p.claimLinks(); !slices.Equal(got, want) {
			t.Errorf("%s: %v in %s", q, got, p.text())
		}
	}
	_, p := get(t, c, "/console/claims?q=ledger") // what a rule is about counts as its words
	p.says("3 claims")
	_, p = get(t, c, "/console/claims?q=zzzzqqq")
	p.says("Nothing matches: no claim")
}

// Pages for a visitor with only the right to read have no buttons that change anything.
func TestReadersSeeNoButtons(t *testing.T) {
	c := open(t)
	for _, path := range []string{"/console/", "/console/claims", "/console/claims/" + c.project.Claims["wrong fact"], "/console/changes", "/console/files", "/console/agents",
		"/console/sessions/s-today"} {
		status, p := get(t, c, path, reader)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		if forms := p.all(`main form[method="post"]`); len(forms) > 0 {
			t.Errorf("%s has a form to %s", path, attr(forms[0], "action"))
		}
		for _, a := range p.all("main a") {
			if to := attr(a, "href"); strings.HasSuffix(to, "/forget") || strings.HasSuffix(to, "/new") {
				t.Errorf("%s leads to %s", path, to)
			}
		}
	}
}
