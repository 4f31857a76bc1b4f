package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
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
	p.says("No stored turn matches.")
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

// A turn is listed with its result as soon as it was answered. A list that is paused
// does not update.
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

// patient gives the legs of a search all the time that they take.
func patient(s *setup) { s.config.Retrieval.Deadline = 30 * time.Second }

// turn prepares a turn and has it kept. change may make it anything else.
func (c *rig) turn(text string, change ...func(*ken.Turn)) ken.Receipt {
	c.Helper()
	t := ken.Turn{Session: "s-new", Agent: "agent-new", Messages: []ken.Message{{Role: "system", Text: "Be brief."}, {Role: "user", Text: text}}}
	for _, f := range change {
		f(&t)
	}
	a := c.layer.Assemble(context.Background(), t)
	c.layer.Answered(t, ken.Message{Role: "assistant", Text: "I see."})
	if err := c.layer.Operator().Recorded(context.Background()); err != nil {
		c.Fatal(err)
	}
	return a.Receipt
}

// A turn's page has what its receipt has, in words.
func TestTurnPage(t *testing.T) {
	c := open(t, patient)
	r := c.turn("How often do we retry calls to the bank, and how long are the pauses?")
	if len(r.Items) < 3 || len(r.Cut) < 3 {
		t.Fatalf("the turn is not the one that was meant: %d items, %d cut", len(r.Items), len(r.Cut))
	}
	status, p := get(t, c, "/console/turns/"+r.Turn)
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says(string(r.Mode), "s-new", "agent-new", "Where the characters went", "system prompt", "Where the time went", "Cached against new bytes",
		"Exact: its hash is the recorded one", "keyword")
	for i, it := range r.Items {
		li := p.one("#c-" + it.ID)
		if have := text(li); it.Kind != budgeter.KindObjectives && !strings.Contains(have, strings.Fields(it.Text)[0]) || !strings.Contains(have, it.Tier.String()) {
			t.Errorf("item %d: %s", i+1, have)
		}
	}
	most, by := 0, map[ken.CutReason]int{}
	for _, cut := range r.Cut {
		by[cut.Reason]++
		most = max(most, by[cut.Reason])
	}
	if most <= 15 { // all would be listed
		t.Fatalf("of one reason only %d are cut", most)
	}
	p.says(fmt.Sprintf("%d more, 12 of them listed", most-3))
	for _, f := range r.Focal {
		if !p.links("/console/entities/" + url.PathEscape(f)) {
			t.Errorf("no link to %s", f)
		}
	}
	if have, want := text(p.one("#block .block")), strings.Join(strings.Fields(r.Block), " "); have != want {
		t.Errorf("the block is %s, want %s", have, want)
	}
	if !p.has("svg") || !p.links("/console/turns/"+r.Turn+"/replay") {
		t.Error("no picture, or no way to the replay")
	}
}

// From a wrong item one gets to its dispute at once, and back to the turn.
func TestDisputeFromATurn(t *testing.T) {
	c := open(t, patient)
	wrong := c.learn("", "The bank allows forty retries of a call for reconciliation.")
	r := c.turn("How many retries of a call for reconciliation does the bank allow?")
	path := "/console/turns/" + r.Turn
	_, p := get(t, c, path)
	form := `form[action="/console/claims/` + wrong + `/dispute"]`
	status, answer := submit(t, c, p, form, map[string]string{"reason": "it is three"})
	if status != http.StatusSeeOther || answer.location != path+"?did=disputed" {
		t.Fatalf("%d to %s", status, answer.location)
	}
	_, p = get(t, c, answer.location)
	p.says("Disputed. No turn gets it any more.", "disputed now")
	if p.has(form) {
		t.Error("it can be disputed again")
	}
}

// Who may only read sees the receipt, no button, and nothing of what was said in sessions.
func TestTurnForAReader(t *testing.T) {
	c := open(t, patient)
	turn := c.project.Turns["today 1"]
	status, p := get(t, c, "/console/turns/"+turn, reader)
	if status != http.StatusOK || p.has("main form[method=\"post\"]") || p.has("#block") {
		t.Errorf("%d: %s", status, p.text())
	}
	if _, whole := get(t, c, "/console/turns/"+turn); !strings.Contains(whole.text(), "Words") || strings.Contains(p.text(), "Words") {
		t.Errorf("a reader gets the words of the question: %s", p.text())
	}
	for _, path := range []string{"/replay", "/whatif"} {
		if status, _ := get(t, c, "/console/turns/"+turn+path, reader); status != http.StatusForbidden {
			t.Errorf("a reader gets %d at %s", status, path)
		}
		if p.links("/console/turns/" + turn + path) {
			t.Errorf("a reader is led to %s", path)
		}
	}
}

// Another owner's turn is no turn at all, and neither is one that was forgotten.
func TestTurnsThatAreNotThere(t *testing.T) {
	c := open(t, patient)
	own, theirs := c.project.Turns["today 1"], c.project.Turns["bob 1"]
	if err := c.layer.Operator().ForgetSession(context.Background(), "", c.project.Sessions["today"]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{own, theirs, "nothing", strings.Repeat("x", 300)} {
		for _, page := range []string{"", "/replay", "/whatif"} {
			status, p := get(t, c, "/console/turns/"+id+page)
			if status != http.StatusNotFound {
				t.Errorf("%s%s: %d", id, page, status)
			}
			p.says("there is no receipt of that turn", "those of forgotten sessions are gone")
			p.hides(c.project.Markers.Other)
		}
	}
	if status, p := get(t, c, "/console/turns/"+theirs, bob); status != http.StatusOK {
		t.Errorf("Bob gets %d of his own: %s", status, p.text())
	}
}

// The page says in words why a claim was in the block or not, also for an id that is no claim.
func TestWhyNot(t *testing.T) {
	c := open(t, patient)
	r := c.turn("How often do we retry calls to the bank?")
	later := c.learn("", "Nobody knew this before the turn.")
	path := "/console/turns/" + r.Turn
	for name, tt := range map[string]struct{ claim, says string }{
		"injected":    {r.Items[0].ID, "It was given."},
		"cut":         {r.Cut[0].ID, "It was found and left out."},
		"its address": {"http://localhost/console/claims/" + r.Items[0].ID + "?did=verified#c", "It was given."},
		"another's":   {c.project.Others[0], "no such claim"},
		"no claim":    {"<script>alert(1)</script>", "no such claim"},
		"unseen":      {later, "It was not"},
	} {
		status, p := get(t, c, path+"?claim="+url.QueryEscape(tt.claim))
		if status != http.StatusOK {
			t.Fatalf("%s: %d", name, status)
		}
		p.says(tt.says)
	}
}

// The turns of a session show hostile messages as text.
func TestHostileTurn(t *testing.T) {
	c := open(t, patient)
	for _, name := range []string{"hostile 1", "hostile 2", "hostile 3"} {
		for _, page := range []string{"", "/replay", "/whatif?mode=keyword"} {
			if status, p := get(t, c, "/console/turns/"+c.project.Turns[name]+page); status != http.StatusOK {
				t.Errorf("%s%s: %d: %s", name, page, status, p.text())
			}
		}
	}
}
