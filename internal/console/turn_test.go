package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
)

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
	if err := c.layer.Recorded(context.Background()); err != nil {
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
	p.says(string(r.Mode), "s-new", "agent-new", "Where the characters went", "system prompt", "Where the milliseconds went", "Cached against new bytes",
		"Exact: its hash is the one that was noted", "keyword")
	for i, it := range r.Items {
		li := p.one("#c-" + it.ID)
		if have := text(li); it.Kind != budgeter.KindObjectives && !strings.Contains(have, strings.Fields(it.Text)[0]) || !strings.Contains(have, it.Tier.String()) {
			t.Errorf("item %d: %s", i+1, have)
		}
	}
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
	if err := c.layer.ForgetSession(context.Background(), "", c.project.Sessions["today"]); err != nil {
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

// Why a claim was there, or not, is said in words; what is no claim is, too.
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

// The turns of a session that said hostile things show them as text.
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
