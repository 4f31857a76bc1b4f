package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// order is the claims of a list, by their ids.
func (p *page) order() (ids []string) {
	p.Helper()
	for _, n := range p.all(`article.candidate`) {
		ids = append(ids, strings.TrimPrefix(attr(n, "id"), "c-"))
	}
	return ids
}

func waits(c *ken.Claim)   { c.Status = ken.StatusHypothesis }
func pattern(c *ken.Claim) { c.Kind = ken.KindPattern }

// While it is too early to count again, a page shows the old count and updates itself later.
func TestCountOfCandidatesCatchesUp(t *testing.T) {
	var at atomic.Int64
	var step atomic.Int64
	step.Store(int64(time.Hour)) // the first count takes hours
	c := open(t, raced, func(s *setup) {
		s.console.Now = func() time.Time { return now.Add(time.Duration(at.Add(step.Load()))) }
	})
	count := func() (text string, pending bool) {
		_, p := get(t, c, "/console/review")
		return strings.Fields(p.texts(`nav[aria-label=Sections] .badge`)[0])[0], p.has("[data-pending]")
	}
	before, pending := count()
	if pending {
		t.Fatal("the first count is pending")
	}
	step.Store(0)
	c.learn(ken.DefaultOwner, "The mirror may be slow.", waits)
	if now, pending := count(); now != before || !pending {
		t.Errorf("too early: %s, was %s, pending %t", now, before, pending)
	}
	if status, p := get(t, c, "/console/claims/none"); status != http.StatusNotFound || p.has("[data-pending]") {
		t.Errorf("an error page has status %d and updates itself: %t", status, p.has("[data-pending]"))
	}
	at.Add(int64(10_000 * time.Hour))
	if now, pending := count(); now == before || pending {
		t.Errorf("later: %s, was %s, pending %t", now, before, pending)
	}
}

func TestReviewListsByReinforcement(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/review")
	var patterns []string
	mine := map[string]bool{}
	for _, id := range c.project.Patterns {
		mine[id] = true
	}
	for _, id := range p.order() {
		if mine[id] {
			patterns = append(patterns, id)
		}
	}
	if fmt.Sprint(patterns) != fmt.Sprint(c.project.Patterns) {
		t.Errorf("the order is %v, want %v", patterns, c.project.Patterns)
	}
	first := "#c-" + c.project.Patterns[0]
	row := p.one(first)
	if s := text(row); !strings.Contains(s, "go test ./...") || !strings.Contains(s, "23×") || !strings.Contains(s, "if approved: in every turn from then on") ||
		!strings.Contains(s, "tool_result") || !strings.Contains(s, "and 20 more") || !strings.Contains(s, "other sessions") {
		t.Errorf("the first says %s", s)
	}
	if !p.has(first+` a[href="/console/sessions/s-onboarding"]`) || !p.has(first+` a[href="/console/claims/`+c.project.Patterns[0]+`"]`) {
		t.Error("its claim and its session are not linked")
	}
	for _, key := range []string{"a", "r", "e", "x"} {
		p.one(first + ` [data-key="` + key + `"]`)
	}
	p.one(`#bulk [data-key="A"]`)
	p.one(`#bulk [data-key="R"]`)
	p.hides(consoletest.BobWord, "<script>window", "<img src=x")

	all := fmt.Sprintf("%d candidates", len(p.order())) // candidate rules, too
	if kinds := p.texts(".choices a"); !strings.Contains(p.text(), all) || len(kinds) == 0 || kinds[0]+" candidates" != "all "+all {
		t.Errorf("of %s: %v", all, kinds)
	}
	_, facts := get(t, c, "/console/review?kind=fact")
	if kinds := p.texts(".choices a"); !slices.Contains(kinds, fmt.Sprintf("fact %d", len(facts.order()))) {
		t.Errorf("%d facts: %v", len(facts.order()), kinds)
	}
	if ids := facts.order(); len(ids) == 0 || mine[ids[0]] {
		t.Errorf("of kind fact: %v", ids)
	}
	if _, none := get(t, c, "/console/review?kind=%3Cscript%3E"); len(none.order()) != 0 {
		t.Error("of no kind there are some")
	}
}

// Ten candidates are approved by the first button ten times, and the list that comes back
// begins with the next one each time.
func TestApproveTen(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/review")
	before := p.order()
	for i := range 10 {
		if first := p.order()[0]; first != before[i] {
			t.Fatalf("after %d decisions the first is %s, want %s", i, first, before[i])
		}
		form := attr(p.all(`article form`)[0], "action")
		status, answer := post(t, c, form, fieldsOf(p.all(`article form`)[0]))
		if status != http.StatusSeeOther || answer.location != "/console/review?did=approved&of="+before[i] {
			t.Fatalf("%d to %s: %s", status, answer.location, answer.text())
		}
		_, p = get(t, c, answer.location)
		p.says("Approved.")
		if !p.links("/console/claims/" + before[i]) {
			t.Fatal("no way to take it back")
		}
	}
	for _, id := range before[:10] {
		if k := c.claim(id); k.Status != ken.StatusObserved {
			t.Errorf("%q is %s", k.Text, k.Status)
		}
	}
	if !strings.Contains(c.file(".ken/knowledge/MEMORY.md"), "go test ./...") {
		t.Error("MEMORY.md does not have it")
	}
}

func TestReviewInBulk(t *testing.T) {
	c := open(t)
	ids := c.project.Patterns
	for decision, want := range map[string]ken.Status{"approve": ken.StatusObserved, "reject": ken.StatusDisputed} {
		chosen := ids[:4]
		ids = ids[4:]
		status, p := post(t, c, "/console/review", url.Values{"decision": {decision}, "claim": chosen, "back": {"/console/review?kind=pattern"}})
		if status != http.StatusSeeOther || p.location != "/console/review?did=decided&kind=pattern" {
			t.Errorf("%s: %d to %q", decision, status, p.location)
		}
		for _, id := range chosen {
			if k := c.claim(id); k.Status != want {
				t.Errorf("%s: %q is %s", decision, k.Text, k.Status)
			}
		}
	}
	// Without a script "choose all" is a page on which everything is chosen.
	_, p := get(t, c, "/console/review?choose=all")
	if n, all := len(p.all("input[data-choose][checked]")), len(p.order()); n != all || n == 0 {
		t.Errorf("%d of %d are chosen", n, all)
	}
	if _, p := post(t, c, "/console/review", url.Values{"decision": {"approve"}}); p.location != "/console/review?did=nothing" {
		t.Errorf("of nothing: to %q", p.location)
	}
}

// One that fails keeps nothing from the others, and is named.
func TestReviewTellsWhatFailed(t *testing.T) {
	c := open(t)
	good := c.project.Patterns[0]
	settled := c.learn(ken.DefaultOwner, "<img src=x onerror=alert(1)> was verified.", func(k *ken.Claim) { k.Status = ken.StatusSuperseded; k.SupersededBy = good })
	gone := "0198c0de-0000-7000-8000-000000000002"
	status, p := post(t, c, "/console/review", url.Values{"decision": {"approve"}, "claim": {good, settled, gone}})
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says("1 decision was carried out", "2 decisions were not", "<img src=x onerror=alert(1)> was verified.", gone)
	p.hides("<img src=x")
	if c.claim(good).Status != ken.StatusObserved {
		t.Error("the good one is not approved")
	}
	// One alone that fails is an error, and the list is there all the same.
	status, p = post(t, c, "/console/review", url.Values{"decision": {"approve"}, "claim": {gone}})
	if status != http.StatusNotFound || len(p.order()) == 0 {
		t.Errorf("%d with %d candidates", status, len(p.order()))
	}
}

func TestEditAndApprove(t *testing.T) {
	c := open(t)
	id := c.project.Patterns[1]
	_, p := get(t, c, "/console/review")
	text := p.one("#e-" + id)
	if text.Data != "textarea" || !hasAttr(text, "data-send") {
		t.Fatalf("the field is %s", text.Data)
	}
	status, p := post(t, c, "/console/review", url.Values{"decision": {"rewrite"}, "claim": {id}, "text": {"make lint before each push\r\nand after"}})
	if status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/console/review?did=edited&of=") {
		t.Fatalf("%d to %q", status, p.location)
	}
	old := c.claim(id)
	if now := c.claim(old.SupersededBy); old.Status != ken.StatusSuperseded || now.Text != "make lint before each push\nand after" || now.Status != ken.StatusObserved {
		t.Errorf("the new one is %s: %q", now.Status, now.Text)
	}
	// The same text, as a browser sends it, only approves.
	two := c.learn(ken.DefaultOwner, "one line\nand another", waits)
	if _, p := post(t, c, "/console/review", url.Values{"decision": {"rewrite"}, "claim": {two}, "text": {"one line\r\nand another"}}); !strings.HasPrefix(p.location, "/console/review?did=edited&of=") {
		t.Errorf("to %q: %s", p.location, p.text())
	}
	if k := c.claim(two); k.Status != ken.StatusObserved {
		t.Errorf("it is %s", k.Status)
	}
	for name, form := range map[string]url.Values{
		"two at once":     {"decision": {"rewrite"}, "claim": {id, two}, "text": {"x"}},
		"no such verdict": {"decision": {"forget"}, "claim": {two}},
		"no text":         {"decision": {"rewrite"}, "claim": {c.project.Patterns[2]}, "text": {"  "}},
	} {
		if status, _ := post(t, c, "/console/review", form); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// More than a page goes on from page to page, those of MEMORY.md first, and none is left
// out or there twice.
func TestReviewHasPages(t *testing.T) {
	c := open(t, bare)
	want := 0
	for i := range 60 {
		c.learn(ken.DefaultOwner, fmt.Sprintf("Shell command succeeds: make step-%d", i), waits, pattern)
		c.learn(ken.DefaultOwner, fmt.Sprintf("Service %d retries %d times.", i, i), waits)
		want += 2
	}
	seen := map[string]bool{}
	path, pages := "/console/review", 0
	for ; path != "" && pages < 10; pages++ {
		_, p := get(t, c, path)
		ids := p.order()
		if len(ids) > 50 {
			t.Fatalf("%d on a page", len(ids))
		}
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%s is there twice", id)
			}
			seen[id] = true
			if k := c.claim(id); k.Kind == ken.KindPattern != (len(seen) <= 60) {
				t.Fatalf("the %dth is a %s", len(seen), k.Kind)
			}
		}
		path = ""
		for _, a := range p.all(`a[rel="next"]`) {
			path = attr(a, "href")
		}
	}
	if len(seen) != want || pages != 3 {
		t.Errorf("%d of %d on %d pages", len(seen), want, pages)
	}
}

func TestReaderReviewsNothing(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/review", reader)
	if status != http.StatusOK || len(p.order()) == 0 {
		t.Fatalf("%d: %s", status, p.text())
	}
	for _, css := range []string{"main button", "main form", "main input", "main textarea"} {
		if p.has(css) {
			t.Errorf("a reader has %s", css)
		}
	}
	id := c.project.Patterns[0]
	if status, _ := post(t, c, "/console/review", url.Values{"decision": {"approve"}, "claim": {id}}, reader); status != http.StatusForbidden {
		t.Errorf("a reader's decision: %d", status)
	}
	// Another owner sees none of it, and decides about none of it.
	_, p = get(t, c, "/console/review", bob)
	p.hides(consoletest.OwnWord, id)
	if status, _ := post(t, c, "/console/review", url.Values{"decision": {"approve"}, "claim": {id}}, bob); status != http.StatusNotFound {
		t.Errorf("another owner's decision: %d", status)
	}
	if status, _ := post(t, c, "/console/review", url.Values{"decision": {"approve"}, "claim": {id}, "token": {"x"}}); status != http.StatusForbidden {
		t.Errorf("without the token: %d", status)
	}
	if k := c.claim(id); k.Status != ken.StatusHypothesis {
		t.Errorf("it is %s", k.Status)
	}
}

func TestReviewOfNothing(t *testing.T) {
	_, p := get(t, open(t, bare), "/console/review")
	p.says("Nothing waits for a decision.", "Harvests put here")
	if p.has("#bulk") {
		t.Error("there is a form for nothing")
	}
}
