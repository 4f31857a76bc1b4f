package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

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

// Whoever corrects a rule or a verified claim reads what it stays, and says why.
func TestCorrectAVerifiedRule(t *testing.T) {
	c := open(t, bare)
	person := func(k *ken.Claim) { k.Evidence = []ken.Evidence{ken.FromHumanAssertion("ana", now, "")} }
	rule := c.learn(ken.DefaultOwner, "Refunds over 1000 euros need Ana.", person, func(k *ken.Claim) { k.Constraint, k.Status = true, ken.StatusVerified })
	fact := c.learn(ken.DefaultOwner, "The kitchen is on the second floor.", person)
	page := "/console/claims/" + rule
	_, p := get(t, c, page)
	p.says("With the new words it stays a rule and verified, on your word")
	if !hasAttr(p.one("#supersede-reason"), "required") || strings.TrimSpace(text(p.one("#new-text"))) != c.claim(rule).Text {
		t.Error("the form asks for no reason, or has not the words")
	}
	form := `form[action="` + page + `/supersede"]`
	for _, values := range []map[string]string{{"text": "Refunds over 2000 euros need Ana."}, {"by": fact}} {
		status, p := submit(t, c, p, form, values)
		if status != http.StatusBadRequest || c.claim(rule).Status != ken.StatusVerified {
			t.Errorf("%v: %d %s", values, status, p.text())
		}
	}
	if status, p := submit(t, c, p, form, map[string]string{"reason": "the same"}); status != http.StatusBadRequest {
		t.Errorf("the same words: %d %s", status, p.text())
	}
	status, p := submit(t, c, p, form, map[string]string{"text": "Refunds over 2000 euros\r\nneed Ana.", "reason": "decided in March"})
	k := c.claim(c.claim(rule).SupersededBy)
	if status != http.StatusSeeOther || k.Status != ken.StatusVerified || !k.Constraint || k.Text != "Refunds over 2000 euros\nneed Ana." {
		t.Fatalf("%d %s: %+v", status, p.text(), k)
	}
	_, p = get(t, c, p.location)
	p.says("decided in March")
	_, p = get(t, c, "/console/claims/"+fact)
	p.hides("With the new words it stays")
	if hasAttr(p.one("#supersede-reason"), "required") {
		t.Error("a reason is asked for an ordinary claim")
	}
	if status, p := submit(t, c, p, `form[action="/console/claims/`+fact+`/supersede"]`, map[string]string{"by": k.ID}); status != http.StatusSeeOther || c.claim(fact).SupersededBy != k.ID {
		t.Errorf("%d %s", status, p.text())
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
	// Another owner learns nothing about the project's files, not even whether they exist.
	for _, file := range []string{"docs/runbook.md", "docs/none.md"} {
		form.Set("file", file)
		form.Set("text", "Deploys are as in "+file+".")
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

// A form that is sent twice writes one claim. One that can't be written comes back as it was typed.
func TestAFormOfAClaimTwiceAndWrong(t *testing.T) {
	c := open(t, bare)
	form := url.Values{"text": {"The mirror is refreshed hourly."}, "kind": {"fact"}, "status": {"observed"}}
	_, first := post(t, c, "/console/claims", form)
	_, second := post(t, c, "/console/claims", form)
	a, _, _ := strings.Cut(first.location, "?")
	b, done, _ := strings.Cut(second.location, "?")
	if a == "" || a != b || !strings.Contains(done, "known") {
		t.Errorf("sent to %s, then to %s", first.location, second.location)
	}
	form.Set("text", `The "pump" is <b>checked</b> weekly.`)
	form.Set("days", "abc")
	form.Set("tags", "plant")
	form.Set("kind", "finding")
	status, p := post(t, c, "/console/claims", form)
	got := fieldsOf(p.one("form.sheet"))
	if status != http.StatusBadRequest || got.Get("text") != form.Get("text") || got.Get("days") != "abc" || got.Get("tags") != "plant" || got.Get("kind") != "finding" || !strings.Contains(p.text(), "1 to 36500") {
		t.Errorf("%d %v: %s", status, got, p.text())
	}
	form.Del("days")
	form.Set("text", "The deploy token is ghp_"+strings.Repeat("a1B2c3", 6)+".")
	if _, p = post(t, c, "/console/claims", form); !strings.Contains(p.location, "cleaned") {
		t.Errorf("a secret: %s", p.location)
	}
}

// A change that does not fit the claim's state is a conflict, and no lack of rights.
func TestAChangeThatDoesNotFit(t *testing.T) {
	c := open(t, bare)
	_, p := post(t, c, "/console/claims", url.Values{"text": {"The mirror is refreshed hourly."}, "kind": {"fact"}, "status": {"observed"}})
	path, _, _ := strings.Cut(p.location, "?")
	for _, want := range []int{http.StatusSeeOther, http.StatusConflict} {
		if status, p := post(t, c, path+"/dispute", url.Values{"reason": {"it is daily"}}); status != want {
			t.Errorf("%d, want %d: %s", status, want, p.text())
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
	// To load the page again, to go back, and to press a button in another tab lead to what is kept.
	for what, do := range map[string]func() (int, *page){
		"forget": func() (int, *page) { return get(t, c, "/console/claims/"+id+"/forget") },
		"again":  func() (int, *page) { return post(t, c, "/console/claims/"+id+"/forget", nil) },
		"verify": func() (int, *page) { return post(t, c, "/console/claims/"+id+"/verify", nil) },
	} {
		if status, p := do(); status != http.StatusSeeOther || p.location != "/console/claims/"+id {
			t.Errorf("%s: %d to %s", what, status, p.location)
		}
	}
}

// An error about a claim links to it, and keeps what was typed.
func TestErrorsLeadToClaims(t *testing.T) {
	c := open(t, bare)
	id := c.learn(ken.DefaultOwner, "The kitchen is on the second floor.")
	path := "/console/claims/" + id + "/supersede"
	if status, _ := post(t, c, path, url.Values{"text": {"The kitchen is on the third floor."}}); status != http.StatusSeeOther {
		t.Fatalf("corrected: %d", status)
	}
	status, p := post(t, c, path, url.Values{"text": {"There are two kitchens."}}) // in a second tab
	if now := c.claim(id).SupersededBy; status != http.StatusForbidden || !p.links("/console/claims/"+now) {
		t.Errorf("%d: %s", status, p.text())
	}
	p.says("There are two kitchens.", "not stored")
	status, p = get(t, c, "/console/claims/00000000-0000-7000-8000-000000000000")
	if status != http.StatusNotFound || !p.links("/console/claims") {
		t.Errorf("%d: %s", status, p.text())
	}
	p.hides("ken recall", "--owner")
	if status, _ := post(t, c, "/console/claims/00000000-0000-7000-8000-000000000000/verify", nil); status != http.StatusNotFound {
		t.Errorf("a change of a claim that there is not: %d", status)
	}
}

// Of a text of a megabyte, the page shows the beginning. The complete text is available.
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

// A candidate that is in the attention queue, too, waits once.
func TestACandidateWaitsOnce(t *testing.T) {
	c := open(t, bare)
	c.store("", func(s store.Engine) error {
		rule, err := ken.NewClaim("Never deploy the ledger on Fridays.", ken.FromUserStatement("s", "m1"))
		if err != nil {
			return err
		}
		rule.RuleCandidate = true
		_, err = s.WriteClaim(t.Context(), rule)
		return err
	})
	_, p := get(t, c, "/console/")
	if !strings.Contains(p.text(), "Waiting for you 1 1 candidate, 1 thing to look at") {
		t.Errorf("the overview says %s", p.text())
	}
}
