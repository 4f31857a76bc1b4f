package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestWhatASessionLearned(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/sessions")
	id := ""
	for name := range c.project.Sessions {
		if !p.links("/console/sessions/" + c.project.Sessions[name]) {
			continue
		}
		_, s := get(t, c, "/console/sessions/"+c.project.Sessions[name])
		if len(s.claimLinks()) > 0 && s.has(`[id^="m-"]`) {
			id = c.project.Sessions[name]
		}
	}
	if id == "" {
		t.Fatal("no session says what it learned and what was said")
	}
	_, p = get(t, c, "/console/sessions/"+id)
	p.says("What it learned", "Messages and blocks")
	_, p = get(t, c, "/console/sessions/"+id, reader)
	p.says("What it learned")
	p.hides("Messages and blocks")
	if p.has(`[id^="m-"]`) {
		t.Error("a reader is shown what was said")
	}
	for _, path := range []string{"/console/sessions/nonsense", "/console/sessions/" + url.PathEscape("a/b")} {
		if status, _ := get(t, c, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := get(t, c, "/console/sessions/"+id, bob); status != http.StatusNotFound {
		t.Errorf("bob is shown another owner's session: %d", status)
	}
	if status, _ := post(t, c, "/console/sessions/"+id+"/forget", nil); status != http.StatusSeeOther {
		t.Fatalf("forget: %d", status)
	}
	_, p = get(t, c, "/console/sessions/"+id)
	if p.has(`[id^="m-"]`) || p.has(`[data-region="turns"] p a`) {
		t.Errorf("after it was forgotten: %s", p.text())
	}
}

// All that a session taught is listed first, and goes in one step.
func TestForgetWhatASessionTaught(t *testing.T) {
	c := open(t)
	const id = "s-lunch"
	of := func(more ...ken.Evidence) func(*ken.Claim) {
		return func(k *ken.Claim) {
			k.Session, k.Evidence = id, append([]ken.Evidence{ken.FromMessage(id, "m1", "")}, more...)
		}
	}
	only := c.learn(ken.DefaultOwner, "The canteen of the annex opens at noon.", of())
	shared := c.learn(ken.DefaultOwner, "The annex has no lift.", of(ken.FromMessage("s-other", "m1", "")))
	if _, err := c.layer.Operator().Journal("").Append(t.Context(), session.About{ID: id}, []ken.Message{{Role: "user", Text: "When can I have lunch?"}}); err != nil {
		t.Fatal(err)
	}
	path := "/console/sessions/" + id + "/learned"
	if _, p := get(t, c, "/console/sessions/"+id); !p.links(path) {
		t.Error("no way to forget it")
	}
	if _, p := get(t, c, "/console/sessions/"+id, reader); p.links(path) {
		t.Error("a reader is offered to forget it")
	}
	for _, who := range []access.Principal{reader, bob} {
		if status, _ := get(t, c, path, who); status != http.StatusForbidden && status != http.StatusNotFound {
			t.Errorf("%s: %d", who.Name, status)
		}
	}
	_, p := get(t, c, path)
	p.says("Forget its messages and 1 claim for good", "Kept, because something else supports them", "only this session taught it")
	if !p.links("/console/claims/"+only) || !p.links("/console/claims/"+shared) {
		t.Errorf("what goes and what stays: %s", p.text())
	}
	c.claim(only) // to look changes nothing
	status, p := submit(t, c, p, `form[action="`+path+`"]`, map[string]string{"reason": "asked for"})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("1 claim and 1 message are gone", "Searched, and clean: claims, ")
	if status, _ := get(t, c, "/console/claims/"+only); status != http.StatusGone {
		t.Errorf("a forgotten claim: %d", status)
	}
	c.claim(shared)
	if _, p = get(t, c, "/console/sessions/"+id); strings.Contains(p.text(), "Harvest again") || !strings.Contains(p.text(), "Its messages are gone.") {
		t.Errorf("a session without messages: %s", p.text())
	}
	if status, _ := get(t, c, "/console/sessions/nobody/learned"); status != http.StatusNotFound {
		t.Errorf("a session that there is not: %d", status)
	}
}

func TestWhatAnAgentKnows(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/agents")
	for _, name := range c.project.Agents {
		if !p.links("/console/agents/" + name) {
			t.Errorf("%s is not listed", name)
		}
		status, a := get(t, c, "/console/agents/"+name)
		if status != http.StatusOK || !a.has(`[data-region="turns"] p a`) {
			t.Errorf("%s: %d, %s", name, status, a.text())
		}
	}
	_, p = get(t, c, "/console/agents/"+url.PathEscape(c.project.Hostile.Agent))
	p.hides(c.project.Markers.Other)
	if status, _ := get(t, c, "/console/agents/nobody"); status != http.StatusNotFound {
		t.Errorf("an agent that there is not: %d", status)
	}
}

func TestWhatChanged(t *testing.T) {
	at := now
	c := open(t, bare, func(s *setup) {
		s.layer.Now, s.console.Now = func() time.Time { return at }, func() time.Time { return at }
	})
	old := c.learn(ken.DefaultOwner, "Long ago.")
	at = at.AddDate(0, 0, 20)
	c.learn(ken.DefaultOwner, "Just now.")
	_, p := get(t, c, "/console/changes?span=day")
	p.says("1 claim", "Just now.", "written")
	p.hides("Long ago.")
	if status, _ := post(t, c, "/console/claims/"+old+"/verify", nil); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	_, p = get(t, c, "/console/changes?since="+at.Format(time.DateOnly))
	p.says("2 claims", "observed → verified", "by ana")
	if status, _ := get(t, c, "/console/changes?span=century"); status != http.StatusBadRequest {
		t.Errorf("%d", status)
	}
}

func TestWhatRestsOnAFile(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/files")
	changed := c.project.Files[0]
	if !p.links("/console/files?path=" + url.QueryEscape(changed)) {
		t.Errorf("%s is not listed: %s", changed, p.text())
	}
	_, p = get(t, c, "/console/files?path="+url.QueryEscape(changed))
	p.says("the file has changed", "no longer says")
	_, p = get(t, c, "/console/files?q=backoff")
	p.says("backoff.go")
	for _, path := range []string{"../../etc/passwd", "/etc/passwd", "nothing.go", "a\x00b"} {
		status, p := get(t, c, "/console/files?path="+url.QueryEscape(path))
		if status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("%q: %d", path, status)
		}
		p.hides("root:x:")
	}
}

// Another owner's claims about files are not compared with the project's files,
// because that would reveal them.
func TestAnotherOwnersFilesAreNames(t *testing.T) {
	c := open(t, bare, with(map[string]string{"plan.md": "Buy the bank.\n"}))
	for _, file := range []string{"plan.md", "none.md"} {
		e := ken.FromFile(file, "", "")
		e.ContentHash = "sha256:00"
		rests := func(k *ken.Claim) { k.Evidence = []ken.Evidence{e} }
		for who, says := range map[*access.Principal]bool{&operator: true, &bob: false} {
			id := c.learn(who.Owner, "It is said in "+file+".", rests)
			_, claim := get(t, c, "/console/claims/"+id, *who)
			_, rows := get(t, c, "/console/files?path="+file, *who)
			if claim.has(".evidence .status") != says || strings.Contains(rows.text(), "no longer says") != says {
				t.Errorf("%s is told of %s: %s, %s", who.Name, file, claim.text(), rows.text())
			}
		}
	}
}
