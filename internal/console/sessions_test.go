package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
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
