package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

const settling = ".ken/knowledge/objectives/OBJ-0001.yaml"

// objective is what a file says of one.
func (c *rig) objective(id string) objective.Objective {
	c.Helper()
	o, _, err := c.layer.Operator().Objectives().Read(c.Context(), id)
	if err != nil {
		c.Fatal(err)
	}
	return o
}

func TestObjectivesAreListed(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/objectives")
	p.says("Settle with the bank every hour", "2 of 4", "Next: Reconcile a week in parallel", "Payouts in Swiss francs", "paused")
	if n := len(p.all("article")); n != 2 {
		t.Errorf("%d are not over", n)
	}
	bar := p.one("#o-OBJ-0001 progress")
	if attr(bar, "max") != "4" || attr(bar, "value") != "2" || attr(bar, "aria-label") == "" {
		t.Errorf("the progress is %v", bar.Attr)
	}
	for status, want := range map[string]int{"done": 1, "all": 3, "paused": 1, "abandoned": 0, "nonsense": 0} {
		_, p := get(t, c, "/console/objectives?status="+status)
		if n := len(p.all("article")); n != want {
			t.Errorf("%s: %d, want %d", status, n, want)
		}
	}
	if !p.links("/console/objectives?status=done") {
		t.Error("no way to those that are done")
	}
}

func TestObjectiveIsShown(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/objectives/OBJ-0001")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says("2 of 4 tasks done", "Agree on the file's format", "by agent-lint", "what the auditors asked for", "ADR-0003")
	if !p.links("/console/decisions/ADR-0003") || !p.links("/console/files?path=.ken%2Fknowledge%2Fobjectives%2FOBJ-0001.yaml") {
		t.Error("no link to the decision, or the file")
	}
	if n := len(p.all(".tasks li")); n != 4 {
		t.Errorf("%d tasks", n)
	}
	if status, p := get(t, c, "/console/objectives/obj%201"); status != http.StatusOK {
		t.Errorf("in another spelling: %d: %s", status, p.text())
	}
	if status, _ := get(t, c, "/console/objectives/OBJ-0099"); status != http.StatusNotFound {
		t.Errorf("what is not there: %d", status)
	}
}

func TestObjectiveIsWorkedOn(t *testing.T) {
	c := open(t)
	const page = "/console/objectives/OBJ-0001"
	_, p := get(t, c, page)
	open := p.all(`form[action="` + page + `/done"]`)
	if len(open) != 2 {
		t.Fatalf("%d tasks can be ticked", len(open))
	}
	status, answer := post(t, c, page+"/done", fieldsOf(open[0]))
	if status != http.StatusSeeOther || !strings.HasPrefix(answer.location, page) {
		t.Fatalf("%d to %s: %s", status, answer.location, answer.text())
	}
	if task := c.objective("OBJ-0001").Tasks[2]; !task.Done || task.By != "ana" || !task.DoneAt.Equal(now) {
		t.Errorf("the task is %+v", task)
	}
	// Doing it again, as a page does that was open in two windows, changes nothing.
	before := c.file(settling)
	if status, answer := post(t, c, page+"/done", fieldsOf(open[0])); status != http.StatusSeeOther || c.file(settling) != before {
		t.Errorf("again: %d: %s", status, answer.text())
	}
	if status, answer := submit(t, c, p, "#add-task", map[string]string{"task": "Write <b>it</b> down"}); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, answer.text())
	}
	if status, answer := submit(t, c, p, "#link-objective", map[string]string{"decision": "ADR-0005, ADR-0006", "session": "s-today"}); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, answer.text())
	}
	if status, _ := submit(t, c, p, "#link-objective", nil); status != http.StatusBadRequest {
		t.Errorf("linked with nothing: %d", status)
	}
	if status, answer := submit(t, c, p, "#edit-objective", map[string]string{"title": "Settle hourly", "tags": "", "description": "One line.\r\nAnother."}); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, answer.text())
	}
	_, p = get(t, c, page)
	p.says("Settle hourly", "3 of 5 tasks done", "Write <b>it</b> down", "ADR-0006", "s-today", "One line. Another.")
	if o := c.objective("1"); len(o.Tags) != 0 || o.Owner != "ana" || o.Description != "One line.\nAnother." || !slices.Equal(o.Decisions, []string{"ADR-0003", "ADR-0005", "ADR-0006"}) {
		t.Errorf("the file says %+v", o)
	}
	for to, want := range map[string]int{"done": http.StatusSeeOther, "finished": http.StatusBadRequest, "": http.StatusBadRequest} {
		if status, answer := post(t, c, page+"/status", url.Values{"to": {to}}); status != want {
			t.Errorf("%q: %d: %s", to, status, answer.text())
		}
	}
	if s := c.objective("1").Status; s != objective.Done {
		t.Errorf("its status is %s", s)
	}
}

func TestObjectiveIsSet(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/objectives/new")
	status, answer := submit(t, c, p, "#objective-form", map[string]string{"title": strings.Repeat("long ", 60), "tasks": "One\r\n\r\nTwo"})
	if status != http.StatusBadRequest || fieldsOf(answer.one("#objective-form")).Get("tasks") != "One\n\nTwo" || !answer.has(".form-problem") {
		t.Fatalf("%d: %s", status, answer.text())
	}
	status, answer = submit(t, c, answer, "#objective-form", map[string]string{"title": "Quiet nights", "owner": "ana", "decision": "ADR-0003"})
	if status != http.StatusSeeOther || answer.location != "/console/objectives/OBJ-0004?did=put" {
		t.Fatalf("%d to %s: %s", status, answer.location, answer.text())
	}
	_, p = get(t, c, answer.location)
	p.says("Written into the project.", "Quiet nights", "0 of 2 tasks done", "active", "ana", "ADR-0003")
}

func TestHostileObjective(t *testing.T) {
	hostile := "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202egnp.exe"
	c := open(t, bare, with(map[string]string{settling: "id: OBJ-0001\ntitle: '" + hostile + "'\nstatus: active\nowner: '" + hostile + "'\ntags: ['" + hostile + "']\nlinks:\n  decisions: ['" + hostile +
		"']\n  sessions: ['../../" + hostile + "']\ntasks:\n  - text: '" + hostile + "'\n  - text: x\n    done: true\n    by: '" + hostile + "'\n    claim: '../../" + hostile + "'\ndescription: '" + hostile + "'\n",
		".ken/knowledge/objectives/OBJ-0002.yaml": "id: OBJ-0002\ntitle: ['" + hostile + "\n"}))
	for _, path := range []string{"/console/objectives", "/console/objectives/OBJ-0001"} {
		status, p := get(t, c, path)
		if status != http.StatusOK {
			t.Errorf("%s: %d: %s", path, status, p.text())
		}
		p.says("<script>window.pwned=1</script>")
		p.hides("<script>window", "<img src=x")
	}
	_, p := get(t, c, "/console/objectives")
	p.says("problem", "OBJ-0002.yaml")
}

// Who only reads is shown no form and gets nothing done; another owner sees nothing.
func TestObjectivesAreTheOwners(t *testing.T) {
	c := open(t)
	for _, path := range []string{"/console/objectives", "/console/objectives/OBJ-0001"} {
		status, p := get(t, c, path, reader)
		if status != http.StatusOK || p.has(`main form[method="post"]`) || p.links("/console/objectives/new") {
			t.Errorf("%s: %d, with %q", path, status, p.texts("main form"))
		}
		status, p = get(t, c, path, bob)
		if path == "/console/objectives" && status != http.StatusOK || path != "/console/objectives" && status != http.StatusForbidden {
			t.Errorf("%s: bob gets %d", path, status)
		}
		p.hides(consoletest.OwnWord, "Settle with the bank", "auditors")
	}
	before := c.file(settling)
	for path, form := range map[string]url.Values{"": {"title": {"X"}}, "/OBJ-0001": {"title": {"X"}}, "/OBJ-0001/status": {"to": {"done"}}, "/OBJ-0001/task": {"task": {"X"}},
		"/OBJ-0001/done": {"task": {"3"}}, "/OBJ-0001/link": {"decision": {"ADR-0001"}}} {
		for _, asks := range []access.Principal{reader, bob} {
			if status, _ := post(t, c, "/console/objectives"+path, form, asks); status != http.StatusForbidden {
				t.Errorf("%s by %s: %d", path, asks.Name, status)
			}
		}
	}
	if c.file(settling) != before || c.file(".ken/knowledge/objectives/OBJ-0004.yaml") != "" {
		t.Error("somebody wrote")
	}
}

func TestNoObjectives(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/objectives")
	p.says("Nothing is aimed at yet.")
	off := open(t, bare, func(s *setup) { s.config = config.Default(); s.config.Middleware.Objectives = false })
	if status, p := get(t, off, "/console/objectives"); status != http.StatusServiceUnavailable || !strings.Contains(p.text(), "middleware.objectives") {
		t.Errorf("switched off: %d: %s", status, p.text())
	}
	// Without decisions, their names are all there is.
	alone := open(t, func(s *setup) { s.config = config.Default(); s.config.Middleware.Graph = false })
	status, p := get(t, alone, "/console/objectives/OBJ-0001")
	if status != http.StatusOK || p.links("/console/decisions/ADR-0003") {
		t.Errorf("without decisions: %d", status)
	}
	p.says("ADR-0003")
}
