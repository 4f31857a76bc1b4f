package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// listed are the turns that a page lists, in its order.
func listed(p *page) (ids []string) {
	p.Helper()
	for _, a := range p.all(".turns h2 a") {
		ids = append(ids, strings.TrimPrefix(attr(a, "href"), "/console/turns/"))
	}
	return ids
}

// The list goes on from page to page, without a gap, and no turn twice.
func TestTurnsPages(t *testing.T) {
	c := open(t)
	var all []string
	path := "/console/turns"
	for range 10 {
		status, p := get(t, c, path)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", path, status)
		}
		all = append(all, listed(p)...)
		next := p.all("a[rel=\"next\"]")
		if len(next) == 0 {
			break
		}
		if len(listed(p)) == 0 || p.has("body[data-topics]") != (path == "/console/turns") {
			t.Fatalf("%s: %d turns; only the newest are followed", path, len(listed(p)))
		}
		path = attr(next[0], "href")
	}
	seen := map[string]bool{}
	for _, id := range all {
		if seen[id] {
			t.Errorf("%s stands twice", id)
		}
		seen[id] = true
	}
	for name, id := range c.project.Turns {
		if own := !strings.HasPrefix(name, "bob"); seen[id] != own {
			t.Errorf("%s is there: %t", name, seen[id])
		}
	}
	if at := slices.Index(all, c.project.Turns["today 6"]); at != 0 {
		t.Errorf("the newest is at %d", at)
	}
}

func TestTurnsNarrowed(t *testing.T) {
	c := open(t)
	session := c.project.Sessions["latency"]
	_, p := get(t, c, "/console/turns?session="+session)
	if got := listed(p); len(got) != 7 || got[0] != c.project.Turns["latency 7"] {
		t.Errorf("of a session: %q", got)
	}
	_, p = get(t, c, "/console/turns?mode=none&session="+session)
	if got := listed(p); len(got) == 0 || len(got) == 7 {
		t.Errorf("of a session, with nothing looked for: %q", got)
	}
	if !p.links("/console/turns?session=" + session) {
		t.Error("there is no way out of the mode")
	}
	_, p = get(t, c, "/console/turns?agent="+url.QueryEscape(c.project.Hostile.Agent))
	if got := listed(p); len(got) != 3 {
		t.Errorf("of the hostile agent: %q", got)
	}
	_, p = get(t, c, "/console/turns?agent=nobody")
	p.says("No turn that is still remembered is like that.")
}

// Without operate the turns of a session are there, those of all are not.
func TestTurnsForAReader(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/turns", reader)
	if len(listed(p)) > 0 || status != http.StatusOK {
		t.Errorf("%d, %d turns", status, len(listed(p)))
	}
	p.says("need the right operate")
	_, p = get(t, c, "/console/turns?session="+c.project.Sessions["today"], reader)
	if len(listed(p)) != 6 {
		t.Errorf("of a session: %q", listed(p))
	}
	if _, p = get(t, c, "/console/turns?session="+c.project.Sessions["today"], bob); len(listed(p)) > 0 {
		t.Errorf("Bob sees %q", listed(p))
	}
}

// A turn is there as soon as it was answered, with what came of it; a list that is held
// follows nothing.
func TestTurnsAreFollowed(t *testing.T) {
	c := open(t, bare, patient)
	_, p := get(t, c, "/console/turns")
	p.says("No turn yet.")
	c.learn("", "The ledger listens on port 8071.")
	r := c.turn("On which port does the ledger listen?", func(t *ken.Turn) { t.Agent = "agent-x" })
	_, p = get(t, c, "/console/turns")
	if got := listed(p); len(got) != 1 || got[0] != r.Turn || attr(p.one("body"), "data-topics") != "turns" {
		t.Errorf("%q, following %q", got, attr(p.one("body"), "data-topics"))
	}
	p.says("agent-x", "s-new", "1 item")
	if _, p = get(t, c, "/console/turns?hold=yes"); p.has("body[data-topics]") || len(listed(p)) != 1 {
		t.Error("a held list is followed")
	}
}
