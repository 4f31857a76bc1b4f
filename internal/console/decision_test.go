package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// statusOf is what the front matter of a decision's file says.
func statusOf(c *rig, file string) string {
	for line := range strings.Lines(c.file(file)) {
		if s, ok := strings.CutPrefix(line, "status: "); ok {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

const (
	third = "docs/decisions/0003-idempotent-references.md"
	mail  = "docs/decisions/0006-mail-behind-a-queue.md"
)

func TestDecisionsAreListed(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/decisions")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says("6 decisions", "Retry calls to the bank three times", "retry")
	titles := p.texts("article h3")
	if len(titles) != 6 || !strings.HasPrefix(titles[0], "ADR-0006") || !strings.HasPrefix(titles[5], "ADR-0001") {
		t.Errorf("the last is not first: %q", titles)
	}
	for name, want := range map[string][]string{
		"?status=superseded":                {"ADR-0004", "ADR-0002"},
		"?status=accepted&q=bank":           {"ADR-0005"},
		"?q=letters+queue+mail&status=":     {},
		"?governs=retry.Do&status=accepted": {"ADR-0005"},
		"?tag=incident":                     {"ADR-0005"},
		"?tag=incident&status=superseded":   {},
		"?q=xylophone":                      {},
	} {
		_, p := get(t, c, "/console/decisions"+name)
		var got []string
		for _, s := range p.texts("article h3") {
			got = append(got, strings.Fields(s)[0])
		}
		switch {
		case len(want) == 0 && (len(got) > 0 || !p.has(".empty")):
			t.Errorf("%s: %q", name, got)
		case len(want) > 0 && (len(got) == 0 || !slices.Contains(got, want[0]) || len(want) > 1 && !slices.Equal(got, want)):
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// The counts say what choosing one more value would show.
	_, p = get(t, c, "/console/decisions?status=superseded")
	if !p.links("/console/decisions?status=superseded&status=accepted") || !p.links("/console/decisions") {
		t.Error("the facets do not lead on and back")
	}
}

func TestDecisionList_Pages(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		n := string(rune('0'+i/10)) + string(rune('0'+i%10))
		files["docs/adr/00"+n+"-one.md"] = "# ADR-00" + n + ": Rule " + n + "\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n"
	}
	c := open(t, bare, with(files))
	_, p := get(t, c, "/console/decisions")
	if n := len(p.all("article")); n != 50 {
		t.Fatalf("%d on the first page", n)
	}
	p.says("60 decisions")
	_, p = get(t, c, attr(p.one(`a[rel="next"]`), "href"))
	if n := len(p.all("article")); n != 60 || p.has(`a[rel="next"]`) {
		t.Errorf("%d after that", n)
	}
}

func TestDecisionIsShown(t *testing.T) {
	c := open(t)
	if _, err := c.layer.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, p := get(t, c, "/console/decisions/ADR-0005")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says("Retry calls to the bank three times", "accepted", "Five quick calls made the outage", "Leaving it as it was", "Call three times",
		"A client waits up to half a minute.", "2026-03-14", "ana, tom", "What superseded what")
	for _, to := range []string{"/console/files?path=docs%2Fdecisions%2F0005-retry-three-times.md", "/console/decisions/ADR-0002", "/console/decisions?tag=retry",
		"/console/code/symbol?id=function%3Aexample.com%2Fpayments%2Fretry.Do"} {
		if !p.links(to) {
			t.Errorf("no link to %s", to)
		}
	}
	if !p.has("figure svg") {
		t.Error("no chain is drawn")
	}
	// It is found as people name it.
	for _, name := range []string{"5", "adr%205", "docs%2Fdecisions%2F0005-retry-three-times.md"} {
		if status, _ := get(t, c, "/console/decisions/"+name); status != http.StatusOK {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, p := get(t, c, "/console/decisions/ADR-0099"); status != http.StatusNotFound {
		t.Errorf("what is not there: %d: %s", status, p.text())
	}
}

// Two files with one number have different names, and both pages exist.
func TestDecisionsOfOneNumber(t *testing.T) {
	c := open(t, bare, with(map[string]string{
		"docs/adr/0007-a.md": "# ADR-0007: Apples\n\n## Status\n\nProposed\n\n## Context\n\nFruit.\n",
		"docs/adr/0007-b.md": "# ADR-0007: Berries\n\n## Status\n\nAccepted\n\n## Decision\n\nBerries.\n",
		"docs/adr/new.md":    "# A page called new\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n"}))
	_, list := get(t, c, "/console/decisions")
	list.says("problem")
	var seen []string
	for _, a := range list.all("article h3 a") {
		status, p := get(t, c, attr(a, "href"))
		if status != http.StatusOK || p.has("#decision-form") {
			t.Errorf("%s: %d: %s", attr(a, "href"), status, p.text())
		}
		seen = append(seen, text(p.one("h1")))
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"A page called new", "Apples", "Berries"}) {
		t.Errorf("seen %q", seen)
	}
	if status, p := get(t, c, "/console/decisions/7"); status != http.StatusBadRequest || !strings.Contains(p.text(), "ADR-0007/") {
		t.Errorf("a number that two have: %d: %s", status, p.text())
	}
}

// A nested section is shown once, and an option with only a section is not lost.
func TestDecisionSections(t *testing.T) {
	c := open(t, bare, with(map[string]string{"docs/adr/0001-x.md": "# X\n\n## Status\n\nAccepted\n\n## Context\n\nFirst.\n\n### Background\n\nSecond.\n\n## Considered Options\n\n* Red\n* Blue\n\n### Red\n\nThird.\n\n" +
		"## Decision\n\nFourth.\n\n## Pros and Cons of the Options\n\n### Blue\n\n* Good, because fifth\n\n## Rollout\n\nSixth.\n\n### Week one\n\nSeventh.\n"}))
	_, p := get(t, c, "/console/decisions/1")
	for _, said := range []string{"First", "Second", "Third", "Fourth", "fifth", "Sixth", "Seventh"} {
		if n := strings.Count(p.text(), said); n != 1 {
			t.Errorf("%s is said %d times: %s", said, n, p.text())
		}
	}
}

func TestDecisionIsMoved(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/decisions/ADR-0003")
	before := statusOf(c, third)
	form := `form[action="/console/decisions/ADR-0003/status"]`
	if n := len(p.all(form)); n != 2 || before != "accepted" {
		t.Fatalf("%d ways on from %s", n, before)
	}
	hash := attr(p.one(`#other-status [name="hash"]`), "value")
	status, p := post(t, c, "/console/decisions/ADR-0003/status", url.Values{"to": {"deprecated"}, "hash": {hash}})
	if status != http.StatusSeeOther || p.location != "/console/decisions/ADR-0003?did=moved" || statusOf(c, third) != "deprecated" {
		t.Fatalf("%d to %s; the file says %s; %s", status, p.location, statusOf(c, third), p.text())
	}
	_, p = get(t, c, p.location)
	p.says("The status was changed.", "deprecated")

	// The page was made before the file changed.
	status, p = post(t, c, "/console/decisions/ADR-0003/status", url.Values{"to": {"rejected"}, "hash": {hash}})
	if status != http.StatusConflict || statusOf(c, third) != "deprecated" {
		t.Errorf("%d; the file says %s", status, statusOf(c, third))
	}
	p.says("has changed since the page was loaded")
	for _, to := range []string{"superseded", "", "Accepted!"} {
		if status, _ := post(t, c, "/console/decisions/ADR-0003/status", url.Values{"to": {to}}); status != http.StatusBadRequest || statusOf(c, third) != "deprecated" {
			t.Errorf("%q: %d; the file says %s", to, status, statusOf(c, third))
		}
	}

	// Into the archive, from where it is found by the same name.
	_, p = get(t, c, "/console/decisions/ADR-0003")
	status, p = submit(t, c, p, `form[action="/console/decisions/ADR-0003/archive"]`, nil)
	if status != http.StatusSeeOther || c.file(third) != "" {
		t.Fatalf("%d: %s", status, p.text())
	}
	_, p = get(t, c, p.location)
	p.says("archived", "docs/decisions/archive/")
	if p.has(`form[action="/console/decisions/ADR-0003/archive"]`) {
		t.Error("it can be archived twice")
	}
}

func TestDecisionIsSuperseded(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/decisions/ADR-0003")
	form := `form[action="/console/decisions/ADR-0003/supersede"]`
	if status, answer := submit(t, c, p, form, map[string]string{"by": "ADR-0099"}); status != http.StatusNotFound {
		t.Errorf("by nothing: %d: %s", status, answer.text())
	}
	if status, answer := submit(t, c, p, form, map[string]string{"by": " "}); status != http.StatusBadRequest {
		t.Errorf("by nobody: %d: %s", status, answer.text())
	}
	status, answer := submit(t, c, p, form, map[string]string{"by": "ADR-0005"})
	if status != http.StatusSeeOther || !strings.HasPrefix(statusOf(c, third), "superseded") {
		t.Fatalf("%d: %s; the file says %q", status, answer.text(), statusOf(c, third))
	}
	_, p = get(t, c, answer.location)
	p.says("both files say so", "superseded", "Superseded by ADR-0005")
	if status, answer := post(t, c, "/console/decisions/ADR-0003/supersede", url.Values{"by": {"ADR-0006"}}); status != http.StatusForbidden {
		t.Errorf("by another one: %d: %s", status, answer.text())
	}
	if status, answer := post(t, c, "/console/decisions/ADR-0005/supersede", url.Values{"by": {"ADR-0003"}}); status != http.StatusForbidden {
		t.Errorf("in a circle: %d: %s", status, answer.text())
	}
}

func TestDecisionIsWritten(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/decisions/new")
	status, answer := submit(t, c, p, "#decision-form", map[string]string{"title": "Letters are \"plain\" text", "status": "accepted", "context": "HTML\r\nis <b>heavy</b>.",
		"decision": "Plain text.", "chosen": "Plain: it is read everywhere", "alternatives": "HTML: pretty\r\n\r\nNone", "governs": "notify/\nnotify.Mail", "tags": "mail, text", "drivers": "time", "deciders": "ana"})
	if status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, answer.text())
	}
	_, p = get(t, c, answer.location)
	p.says("ADR-0007", `Letters are "plain" text`, "HTML is <b>heavy</b>.", "it is read everywhere", "chosen", "notify.Mail", "ana", "2026-03-14")
	file := c.file("docs/decisions/0007-letters-are-plain-text.md")
	if !strings.Contains(file, "Plain text.") || strings.Contains(file, "\r") {
		t.Errorf("the file is %q", file)
	}

	// What can't be written comes back with all that was typed.
	_, p = get(t, c, "/console/decisions/new?supersedes=ADR-0007")
	if got := fieldsOf(p.one("#decision-form")); got.Get("governs") != "notify/\nnotify.Mail" || got.Get("status") != "accepted" {
		t.Errorf("the form begins with %v", got)
	}
	status, answer = submit(t, c, p, "#decision-form", map[string]string{"title": "Letters are HTML", "context": "Pictures."})
	if status != http.StatusBadRequest || fieldsOf(answer.one("#decision-form")).Get("context") != "Pictures." || !answer.has(".form-problem") {
		t.Fatalf("accepted without a decision: %d to %s: %s", status, answer.location, answer.text())
	}
	status, answer = submit(t, c, answer, "#decision-form", map[string]string{"decision": "HTML.", "date": "yesterday"})
	if status != http.StatusBadRequest {
		t.Fatalf("of yesterday: %d", status)
	}
	status, answer = submit(t, c, answer, "#decision-form", map[string]string{"date": "", "hash": "another"})
	if status != http.StatusConflict {
		t.Fatalf("in place of a file that has changed: %d: %s", status, answer.text())
	}
	status, answer = submit(t, c, answer, "#decision-form", nil)
	if status != http.StatusSeeOther || !strings.Contains(statusOf(c, "docs/decisions/0007-letters-are-plain-text.md"), "superseded") {
		t.Fatalf("%d: %s", status, answer.text())
	}
	_, p = get(t, c, answer.location)
	p.says("ADR-0008", "Supersedes ADR-0007")
}

// A file that others change while somebody decides is read again.
func TestDecisionFilesChangeMeanwhile(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/decisions/ADR-0006")
	c.write(mail, strings.Replace(c.file(mail), "status: accepted", "status: proposed", 1)+"\nAnd more of it.\n")
	status, answer := submit(t, c, p, `form[action="/console/decisions/ADR-0006/supersede"]`, map[string]string{"by": "ADR-0001"})
	if status != http.StatusConflict {
		t.Errorf("%d: %s", status, answer.text())
	}
	_, p = get(t, c, "/console/decisions/ADR-0006")
	p.says("proposed", "And more of it.")

	c.write(mail, strings.Replace(c.file(mail), "status: proposed", "status: perhaps", 1))
	_, p = get(t, c, "/console/decisions/ADR-0006")
	p.says("unclear", "Status says perhaps")

	// A broken one is told with its line, and is left alone.
	broken := "---\nstatus: [accepted\n---\n# Broken\n\n## Decision\n\nYes.\n"
	c.write(mail, broken)
	_, p = get(t, c, "/console/decisions")
	p.says("problem", mail)
	status, answer = post(t, c, "/console/decisions/"+url.PathEscape(mail)+"/status", url.Values{"to": {"rejected"}})
	if status != http.StatusForbidden || c.file(mail) != broken {
		t.Errorf("a broken file: %d: %s", status, answer.text())
	}
}

func TestHostileDecision(t *testing.T) {
	hostile := "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202egnp.exe"
	c := open(t, bare, with(map[string]string{"docs/adr/0001-x.md": "---\nstatus: accepted\ntags: ['" + hostile + "']\ngoverns: ['javascript:alert(1)', '" + hostile + "']\ndeciders: ['" + hostile + "']\n'" + hostile + "': yes\n---\n# " +
		hostile + "\n\n## Context\n\n" + hostile + "\n\n## Considered Options\n\n* " + hostile + "\n\n## Decision\n\n" + hostile + "\n\n## " + hostile + "\n\n" + hostile + strings.Repeat("long ", 50_000) + "\n"}))
	for _, path := range []string{"/console/decisions", "/console/decisions/1", "/console/decisions/new?supersedes=1", "/console/decisions?tag=" + url.QueryEscape(hostile), "/console/decisions?governs=" + url.QueryEscape(hostile)} {
		status, p := get(t, c, path)
		if status != http.StatusOK {
			t.Errorf("%s: %d: %s", path, status, p.text())
		}
		p.hides("<script>window", "<img src=x")
		if path == "/console/decisions/1" {
			p.says("<script>window.pwned=1</script>")
			p.hides("\u202e")
			if len(p.body) > 200_000 {
				t.Errorf("%s has %d bytes", path, len(p.body))
			}
		}
	}
}

// Who only reads is shown no form and gets nothing done; another owner sees nothing.
func TestDecisionsAreTheOwners(t *testing.T) {
	c := open(t)
	for _, path := range []string{"/console/decisions", "/console/decisions/ADR-0003"} {
		status, p := get(t, c, path, reader)
		if status != http.StatusOK || p.has(`main form[method="post"]`) || p.links("/console/decisions/new") {
			t.Errorf("%s: %d, with %q", path, status, p.texts("main form"))
		}
		status, p = get(t, c, path, bob)
		if path == "/console/decisions" && status != http.StatusOK || path != "/console/decisions" && status != http.StatusForbidden {
			t.Errorf("%s: bob gets %d", path, status)
		}
		p.hides(consoletest.OwnWord, "ADR-0005", "Retry calls", "0003-idempotent")
	}
	if status, _ := get(t, c, "/console/decisions/new", reader); status != http.StatusForbidden {
		t.Errorf("a reader's form: %d", status)
	}
	forms := map[string]url.Values{"/console/decisions": {"title": {"X"}, "decision": {"Y"}, "status": {"accepted"}}, "/console/decisions/ADR-0003/status": {"to": {"rejected"}},
		"/console/decisions/ADR-0003/supersede": {"by": {"ADR-0005"}}, "/console/decisions/ADR-0003/archive": {}}
	for path, form := range forms {
		for _, asks := range []access.Principal{reader, bob} {
			if status, p := post(t, c, path, form, asks); status != http.StatusForbidden {
				t.Errorf("%s by %s: %d: %s", path, asks.Name, status, p.text())
			}
		}
	}
	if statusOf(c, third) != "accepted" || c.file("docs/decisions/0007-x.md") != "" {
		t.Error("somebody wrote")
	}
}

func TestNoDecisions(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/decisions")
	p.says("No decisions are kept in this project.")
	_, p = get(t, c, "/console/decisions/new")
	status, p := submit(t, c, p, "#decision-form", map[string]string{"title": "The first", "context": "None yet."})
	if status != http.StatusSeeOther {
		t.Errorf("%d: %s", status, p.text())
	}
	off := open(t, bare, func(s *setup) { s.config = config.Default(); s.config.Middleware.Graph = false })
	if status, p := get(t, off, "/console/decisions"); status != http.StatusServiceUnavailable || !strings.Contains(p.text(), "middleware.graph") {
		t.Errorf("switched off: %d: %s", status, p.text())
	}
}

// A decision's page shows the claims that rest on its file.
func TestClaimsOnADecision(t *testing.T) {
	c := open(t)
	id := c.learn(ken.DefaultOwner, "References are the client's own.", func(k *ken.Claim) { k.Evidence = []ken.Evidence{ken.FromFile(third, "", "")} })
	c.learn(consoletest.Bob, "Bob read it too.", func(k *ken.Claim) { k.Evidence = []ken.Evidence{ken.FromFile(third, "", "")} })
	c.eventually("the claims are counted", func() bool {
		_, p := get(t, c, "/console/decisions/ADR-0003")
		p.hides("Bob read it too.")
		return p.links("/console/claims/" + id)
	})
}
