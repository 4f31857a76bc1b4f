package console_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
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
	if status, _ := get(t, c, "/console/claims?before=nonsense"); status != http.StatusBadRequest {
		t.Errorf("a cursor that is none: %d", status)
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
	p.says("Nothing known bears on this")
	_, p = get(t, c, "/console/claims?q=%3Cscript%3Ealert(1)%3C/script%3E")
	if strings.Contains(p.body, "<script>alert") {
		t.Error("the question is markup")
	}
}

// What is shown to somebody who may only look has nothing to press that changes anything.
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

// claim reads a claim as it is now.
func (c *rig) claim(id string) (k ken.Claim) {
	c.Helper()
	c.store(ken.DefaultOwner, func(s store.Engine) (err error) {
		k, err = s.Get(context.Background(), id)
		return err
	})
	return k
}

func TestClaimPageTellsAll(t *testing.T) {
	c := open(t)
	id := c.project.Claims["retry four"]
	status, p := get(t, c, "/console/claims/"+id)
	if status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	p.says("superseded", "What replaced what", "History", "evidence")
	for _, other := range []string{"retry three", "retry five"} {
		if !p.links("/console/claims/" + c.project.Claims[other]) {
			t.Errorf("the chain does not lead to %q", other)
		}
	}
	_, p = get(t, c, "/console/claims/"+c.project.Claims["wrong fact"])
	if p.has("[data-region=\"shown\"] a") != true {
		t.Errorf("no turn that was shown it: %s", p.text())
	}
	for _, gone := range []string{c.project.Others[0], "0198c0de-0000-7000-8000-000000000001", "x", "%2e%2e"} {
		if status, p := get(t, c, "/console/claims/"+gone); status != http.StatusNotFound && status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", gone, status, p.text())
		}
	}
	if status, _ := get(t, c, "/console/claims/"+c.project.Others[0], bob); status != http.StatusOK {
		t.Errorf("bob's own: %d", status)
	}
}

func TestDecideAboutAClaim(t *testing.T) {
	c := open(t, bare)
	id := c.learn(ken.DefaultOwner, "Refunds take two days.")
	page := "/console/claims/" + id
	_, p := get(t, c, page)
	status, p := submit(t, c, p, `form[action="`+page+`/verify"]`, nil)
	if k := c.claim(id); status != http.StatusSeeOther || k.Status != ken.StatusVerified || voucherOf(k) != operator.Name {
		t.Fatalf("verify: %d, %s by %q", status, k.Status, voucherOf(k))
	}
	_, p = get(t, c, p.location)
	p.says("Verified, on your word", "by ana")
	if status, _ = post(t, c, page+"/dispute", url.Values{"reason": {"  "}}); status != http.StatusBadRequest || c.claim(id).Status != ken.StatusVerified {
		t.Errorf("dispute without a reason: %d", status)
	}
	if status, _ = submit(t, c, p, `form[action="`+page+`/dispute"]`, map[string]string{"reason": "since March it is five"}); status != http.StatusSeeOther || c.claim(id).Status != ken.StatusDisputed {
		t.Errorf("dispute: %d", status)
	}
	_, p = get(t, c, page)
	p.says("since March it is five")
	status, p = submit(t, c, p, `form[action="`+page+`/supersede"]`, map[string]string{"text": "Refunds take five days."})
	now, ok := strings.CutPrefix(p.location, "/console/claims/")
	now, _, _ = strings.Cut(now, "?")
	if k := c.claim(id); status != http.StatusSeeOther || !ok || k.SupersededBy != now || c.claim(now).Text != "Refunds take five days." {
		t.Fatalf("correct: %d, %s, superseded by %q", status, p.location, k.SupersededBy)
	}
	if status, _ = post(t, c, page+"/archive", nil); status != http.StatusSeeOther || c.claim(id).ArchivedAt.IsZero() {
		t.Errorf("put away: %d", status)
	}
	for form, want := range map[string]int{"text=a&by=" + now: http.StatusBadRequest, "": http.StatusBadRequest, "by=nonsense": http.StatusNotFound} {
		values, _ := url.ParseQuery(form)
		if status, _ := post(t, c, "/console/claims/"+now+"/supersede", values); status != want {
			t.Errorf("supersede with %q: %d, want %d", form, status, want)
		}
	}
}

func voucherOf(k ken.Claim) string {
	for _, e := range k.Evidence {
		if e.Kind == ken.EvidenceHumanAssertion {
			return e.ID
		}
	}
	return ""
}

func TestWriteAClaim(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/claims/new")
	status, p := submit(t, c, p, `form[method="post"][action="/console/claims"]`, map[string]string{"text": "Never deploy on Fridays.", "kind": "hot", "entities": "payments, ,ledger",
		"constraint": "yes", "scope": "project:payments", "days": "30"})
	id, _, _ := strings.Cut(strings.TrimPrefix(p.location, "/console/claims/"), "?")
	k := c.claim(id)
	if status != http.StatusSeeOther || k.Kind != ken.KindHot || !k.Constraint || len(k.Entities) != 2 || k.Scope.String() != "project:payments" || k.ExpiresAt.IsZero() || k.Actor.ID != operator.Name {
		t.Errorf("%d: %+v", status, k)
	}
	for _, bad := range []string{"text=", "text=x&kind=document", "text=x&kind=fact&status=nonsense", "text=x&kind=fact&status=observed&scope=nonsense", "text=x&kind=fact&status=observed&days=0"} {
		values, _ := url.ParseQuery(bad)
		if status, p := post(t, c, "/console/claims", values); status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", bad, status, p.text())
		}
	}
}

// A claim that rests on a file of the project is written with what the file holds, so
// that its page says when that has changed.
func TestWriteAClaimOnAFile(t *testing.T) {
	c := open(t, bare, with(map[string]string{"docs/runbook.md": "Deploy on Mondays.\n"}))
	form := url.Values{"text": {"Deploys are on Mondays."}, "kind": {"fact"}, "status": {"verified"}, "file": {"docs/runbook.md"}}
	status, p := post(t, c, "/console/claims", form)
	id, _, _ := strings.Cut(strings.TrimPrefix(p.location, "/console/claims/"), "?")
	if k := c.claim(id); status != http.StatusSeeOther || len(k.Evidence) != 2 || !strings.HasPrefix(k.Evidence[1].ContentHash, "sha256:") {
		t.Fatalf("%d: %+v", status, k)
	}
	_, p = get(t, c, "/console/claims/"+id)
	before := p.text()
	c.write("docs/runbook.md", "Deploy on Tuesdays.\n")
	if _, p = get(t, c, "/console/claims/"+id); strings.Contains(before, " changed ") || !strings.Contains(p.text(), " changed ") {
		t.Errorf("before: %s\nafter: %s", before, p.text())
	}
	for _, bad := range []string{"docs/none.md", "../runbook.md", "docs"} {
		form.Set("file", bad)
		if status, p := post(t, c, "/console/claims", form); status < 400 || status >= 500 || !strings.Contains(p.text(), bad) {
			t.Errorf("%s: %d %s", bad, status, p.text())
		}
	}
	// To somebody else the files of the project say nothing, not even that they are there.
	for _, file := range []string{"docs/runbook.md", "docs/none.md"} {
		form.Set("file", file)
		status, p := post(t, c, "/console/claims", form, bob)
		id, _, _ := strings.Cut(strings.TrimPrefix(p.location, "/console/claims/"), "?")
		var k ken.Claim
		c.store(bob.Owner, func(s store.Engine) (err error) {
			k, err = s.Get(t.Context(), id)
			return err
		})
		if status != http.StatusSeeOther || len(k.Evidence) != 2 || k.Evidence[1].ContentHash != "" {
			t.Errorf("%s, for bob: %d %+v", file, status, k)
		}
	}
}

// Forgetting shows before what goes, does that and no more, and looks for it afterwards.
func TestForgetAClaim(t *testing.T) {
	c := open(t)
	id, derived := c.project.Claims["forgettable"], c.project.Claims["derived"]
	words := c.claim(id).Text
	status, p := get(t, c, "/console/claims/"+id+"/forget")
	if status != http.StatusOK || !p.links("/console/claims/"+derived) {
		t.Fatalf("%d, what goes with it: %s", status, p.text())
	}
	p.says("derived from it")
	c.claim(id) // to look changes nothing
	status, p = submit(t, c, p, `form[action="/console/claims/`+id+`/forget"]`, map[string]string{"reason": "asked for"})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("are gone", "No path finds any of it")
	for _, gone := range []string{id, derived} {
		if status, p := get(t, c, "/console/claims/"+gone); status != http.StatusGone {
			t.Errorf("a forgotten claim: %d", status)
		} else {
			p.says("A forgotten claim")
			p.hides(words)
		}
	}
	_, p = get(t, c, "/console/claims?q="+url.QueryEscape(words))
	for _, found := range p.claimLinks() {
		if found == id || found == derived {
			t.Error("a search finds what was forgotten")
		}
	}
	if status, _ := post(t, c, "/console/claims/"+id+"/forget", nil); status != http.StatusOK && status != http.StatusNotFound {
		t.Errorf("again: %d", status)
	}
}

// A text of a megabyte is shown as far as anybody reads, and is there as a whole.
func TestHugeClaim(t *testing.T) {
	c := open(t)
	id := c.project.Claims["hostile huge"]
	_, p := get(t, c, "/console/claims/"+id)
	if len(p.body) > 200_000 {
		t.Errorf("the page has %d bytes", len(p.body))
	}
	if !p.links("/console/claims/" + id + "/text") {
		t.Error("nothing leads to the whole text")
	}
	_, p = get(t, c, "/console/claims/"+id+"/text")
	if p.body != c.claim(id).Text || p.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d bytes of %s", len(p.body), p.header.Get("Content-Type"))
	}
}
