package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/consoletest"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	desk "github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// queue is what needs attention now.
func (c *rig) queue(all bool) (items []attention.Item) {
	c.Helper()
	c.store(ken.DefaultOwner, func(s store.Engine) (err error) {
		items, _, err = desk.New(c.layer, s, desk.Options{Now: clock}).Attention(context.Background(), all)
		return err
	})
	return items
}

// item is the one of an event about a claim of the story; "" for any, or none.
func (c *rig) item(e attention.Event, name string) attention.Item {
	c.Helper()
	for _, it := range c.queue(false) {
		if it.Event == e && (name == "" || len(it.Claims) > 0 && it.Claims[0] == c.project.Claims[name]) {
			return it
		}
	}
	c.Fatalf("nothing is %s about %q", e, name)
	return attention.Item{}
}

// waiting reports whether an item is in the queue.
func (c *rig) waiting(id string) bool {
	c.Helper()
	for _, it := range c.queue(false) {
		if it.ID == id {
			return true
		}
	}
	return false
}

// settle sends one of the forms of an item's page.
func (c *rig) settle(it attention.Item, what string, values map[string]string) *page {
	c.Helper()
	_, p := get(c, c, "/console/attention/"+it.ID)
	status, answer := submit(c, c, p, `form[action="/console/attention/`+it.ID+`/`+what+`"]`, values)
	if status != http.StatusSeeOther || !strings.HasPrefix(answer.location, "/console/attention?did=") {
		c.Fatalf("%s: %d to %q: %s", what, status, answer.location, answer.text())
	}
	if c.waiting(it.ID) {
		c.Errorf("after %s it still waits", what)
	}
	_, next := get(c, c, answer.location)
	if len(next.all("p.did")) != 1 {
		c.Errorf("after %s the page does not say so", what)
	}
	return next
}

// refuse notes twice, as the newest of all, that an agent was not let write something.
func (c *rig) refuse() {
	c.Helper()
	c.store(ken.DefaultOwner, func(s store.Engine) error {
		r := attention.Rejection{At: now.AddDate(2, 0, 0), Session: "s-incident", Actor: ken.Actor{Type: "agent", ID: "coder"}, Text: "The bank is always right. <b>", Why: "evidence: empty"}
		return errors.Join(attention.Reject(context.Background(), s.Shelf(), r), attention.Reject(context.Background(), s.Shelf(), r))
	})
}

func TestAttentionListsWarningsFirst(t *testing.T) {
	c := open(t)
	c.refuse()
	_, p := get(t, c, "/console/attention")
	items := c.queue(false)
	rows := p.all("article.attention")
	if len(rows) != len(items) {
		t.Fatalf("%d rows for %d items", len(rows), len(items))
	}
	for i, it := range items {
		row := "#i-" + it.ID
		if attr(rows[i], "id") != row[1:] {
			t.Errorf("row %d is %s, want %s", i, attr(rows[i], "id"), row[1:])
		}
		if s := p.texts(row + ` .meta .status.` + string(it.Severity)); len(s) == 0 || s[0] != string(it.Severity) {
			t.Errorf("%s: its severity is %v in words, want %s", it.Event, s, it.Severity)
		}
		if !p.has(row+` a[href="/console/attention/`+it.ID+`"]`) || !strings.Contains(text(rows[i]), it.Action) {
			t.Errorf("%s: says %s", it.Event, text(rows[i]))
		}
		if !p.has(row + ` [data-key="h"]`) {
			t.Errorf("%s: can't be dismissed", it.Event)
		}
	}
	two := "#i-" + c.item(attention.Contradicts, "").ID
	if len(p.all(two+" .one-side")) != 2 || len(p.all(two+" .pieces li")) < 2 || len(p.all(two+` button[name="claim"]`)) != 2 {
		t.Errorf("the contradiction says %v", p.texts(two))
	}
	refused := text(p.one("#i-" + c.item(attention.Rejected, "").ID))
	for _, want := range []string{"The bank is always right. <b>", "agent coder", "s-incident", "Was told", "evidence: empty", "2 times"} {
		if !strings.Contains(refused, want) {
			t.Errorf("the refused write does not say %q: %s", want, refused)
		}
	}
	p.hides(consoletest.BobWord, "<script>window", "<img src=x", "<svg onload")
}

func TestSettleContradiction(t *testing.T) {
	for fate, want := range map[string]ken.Status{"replaced": ken.StatusSuperseded, "contested": ken.StatusDisputed} {
		c := open(t)
		it := c.item(attention.Contradicts, "")
		stands, falls := it.Claims[1], it.Claims[0]
		status, p := post(t, c, "/console/attention/"+it.ID+"/stand", url.Values{"claim": {stands}, "fate": {fate}, "back": {"/console/attention?all=1"}})
		if status != http.StatusSeeOther || p.location != "/console/attention?all=1&did=decided" {
			t.Fatalf("%d to %q: %s", status, p.location, p.text())
		}
		if a, b := c.claim(stands).Status, c.claim(falls).Status; a != ken.StatusVerified || b != want || c.waiting(it.ID) {
			t.Errorf("%s: %s and %s", fate, a, b)
		}
		// The item no longer exists, so sending the same form again changes nothing.
		if status, p := post(t, c, "/console/attention/"+it.ID+"/stand", url.Values{"claim": {falls}, "fate": {fate}}); status != http.StatusNotFound {
			t.Errorf("again: %d: %s", status, p.text())
		}
	}
	c := open(t)
	it := c.item(attention.Contradicts, "")
	if status, _ := post(t, c, "/console/attention/"+it.ID+"/stand", url.Values{"claim": {c.project.Patterns[0]}, "fate": {"replaced"}}); status != http.StatusBadRequest {
		t.Errorf("for a third claim: %d", status)
	}
}

func TestSettleDisputed(t *testing.T) {
	c := open(t)
	it := c.item(attention.Disputed, "disputed")
	c.settle(it, "verify", nil)
	if k := c.claim(it.Claims[0]); k.Status != ken.StatusVerified {
		t.Errorf("verified: %s", k.Status)
	}

	c = open(t)
	it = c.item(attention.Disputed, "disputed")
	c.settle(it, "correct", map[string]string{"text": "The bank mostly answers within two seconds."})
	old := c.claim(it.Claims[0])
	if now := c.claim(old.SupersededBy); now.Text != "The bank mostly answers within two seconds." {
		t.Errorf("corrected: %+v", now)
	}

	c = open(t)
	it = c.item(attention.Disputed, "disputed")
	_, p := get(t, c, "/console/attention/"+it.ID)
	p.says("Keep it disputed")
	c.settle(it, "dismiss", nil)
	if k := c.claim(it.Claims[0]); k.Status != ken.StatusDisputed {
		t.Errorf("kept: %s", k.Status)
	}
	// It is still there for who asks, and can be decided about.
	_, p = get(t, c, "/console/attention?all=1")
	if row := "#i-" + it.ID; !strings.Contains(text(p.one(row)), "dismissed") || p.has(row+` [data-key="h"]`) || !p.has(row+` [data-key="v"]`) {
		t.Error("what was dismissed is not shown as such")
	}
	if _, p := get(t, c, "/console/attention"); p.has("#i-" + it.ID) {
		t.Error("what was dismissed is in the queue")
	}
}

func TestSettleSupersession(t *testing.T) {
	c := open(t)
	it := c.item(attention.Superseded, "")
	c.settle(it, "restore", map[string]string{"note": "measured it"})
	less := c.claim(it.Claims[1])
	if now := c.claim(less.SupersededBy); now.Text != c.claim(it.Claims[0]).Text || now.Status != ken.StatusVerified {
		t.Errorf("restored: %s, %q", now.Status, now.Text)
	}

	c = open(t)
	it = c.item(attention.Superseded, "")
	c.settle(it, "verify", nil)
	if k := c.claim(it.Claims[1]); k.Status != ken.StatusVerified {
		t.Errorf("the new one is %s", k.Status)
	}
}

func TestSettleUnsure(t *testing.T) {
	c := open(t)
	it := c.item(attention.Unsure, "")
	c.settle(it, "verify", nil)
	if k := c.claim(it.Claims[0]); k.Status != ken.StatusVerified {
		t.Errorf("verified: %s", k.Status)
	}

	c = open(t)
	it = c.item(attention.Unsure, "")
	if _, p := get(t, c, "/console/attention/"+it.ID); !p.links("/console/claims/" + it.Claims[0] + "/forget") {
		t.Error("no way to forget it")
	}
	c.settle(it, "discard", nil)
	if k := c.claim(it.Claims[0]); k.Status != ken.StatusDisputed {
		t.Errorf("discarded: %s", k.Status)
	}
}

func TestSettleWhatAgentsAsk(t *testing.T) {
	c := open(t)
	it := c.item(attention.DisputeRequested, "")
	_, p := get(t, c, "/console/attention/"+it.ID)
	p.says("Because", it.Asked.Reason)
	if got := fieldsOf(p.one(`form[action="/console/attention/` + it.ID + `/dispute"]`)).Get("reason"); got != it.Asked.Reason {
		t.Errorf("the reason is %q", got)
	}
	c.settle(it, "dispute", nil)
	if k := c.claim(it.Claims[0]); k.Status != ken.StatusDisputed {
		t.Errorf("disputed: %s", k.Status)
	}

	it = c.item(attention.ForgetRequested, "")
	_, p = get(t, c, "/console/attention/"+it.ID)
	if !p.links("/console/claims/" + it.Claims[0] + "/forget") {
		t.Error("no way to forget it")
	}
	c.settle(it, "dismiss", nil)

	c.refuse()
	it = c.item(attention.Rejected, "")
	_, p = get(t, c, "/console/attention/"+it.ID)
	if got := fieldsOf(p.one(`form[action="/console/attention/` + it.ID + `/write"]`)).Get("text"); got != "The bank is always right. <b>" {
		t.Errorf("to be written: %q", got)
	}
	c.settle(it, "write", map[string]string{"text": "The bank is right at month’s end.", "file": "bank/client.go"})
	var found *ken.Claim
	c.store(ken.DefaultOwner, func(s store.Engine) error {
		k, err := s.ByKey(context.Background(), "attention:"+it.ID)
		found = &k
		return err
	})
	if found.Text != "The bank is right at month’s end." || found.Status != ken.StatusObserved || len(found.Evidence) != 2 || found.Evidence[1].ContentHash == "" || found.Actor.ID != "ana" {
		t.Errorf("written: %+v", found)
	}
}

// Why something needs attention: what happened, by whom, and what led to it.
func TestAttentionItemTellsWhy(t *testing.T) {
	c := open(t)
	it := c.item(attention.Disputed, "disputed")
	_, p := get(t, c, "/console/attention/"+it.ID)
	p.says("warning", "was verified, now disputed", "by agent agent-build", "it took eleven seconds on Monday", "verified → disputed", "observed → verified", "watched the dashboard", "time_total 11.2")
	if n := len(p.all("li.cause")); n != 1 {
		t.Errorf("%d entries are what it is about", n)
	}
	it = c.item(attention.Contradicts, "")
	_, p = get(t, c, "/console/attention/"+it.ID)
	p.says("The two claims", "A stands", "B stands", "system harvest")
	for _, id := range it.Claims {
		if !p.links("/console/claims/" + id) {
			t.Errorf("%s is not linked", id)
		}
	}
	letters := strings.Join(p.texts(".timeline .letter"), "")
	if !strings.Contains(letters, "A") || !strings.Contains(letters, "B") {
		t.Errorf("the timeline is of %q", letters)
	}
	for _, path := range []string{"/console/attention/0123456789ab", "/console/attention/%3Cscript%3E"} {
		if status, p := get(t, c, path); status != http.StatusNotFound || !strings.Contains(p.text(), "settled") {
			t.Errorf("%s: %d: %s", path, status, p.text())
		}
	}
}

// Turns that received a claim after the event are listed; earlier ones are not.
func TestAttentionItemTellsWhoWasTold(t *testing.T) {
	c := open(t)
	id := c.project.Claims["wrong fact"]
	for e, at := range map[attention.Event]time.Time{attention.ForgetRequested: now.Add(time.Hour), attention.DisputeRequested: now.AddDate(-1, 0, 0)} {
		c.store(ken.DefaultOwner, func(s store.Engine) error {
			_, err := attention.PutMark(context.Background(), s.Shelf(), attention.Mark{Event: e, Claim: id, At: at})
			return err
		})
		path := "/console/attention/" + c.item(e, "wrong fact").ID
		_, p := get(t, c, path)
		if told, want := p.has(`main a[href^="/console/turns/"]`), at.Before(now); told != want {
			t.Errorf("%s: turns are told of: %v, want %v", e, told, want)
		}
		if _, p := get(t, c, path, reader); p.has(`a[href^="/console/turns/"]`) {
			t.Error("a reader sees others’ turns")
		}
	}
}

func TestReaderSettlesNothing(t *testing.T) {
	c := open(t)
	for _, it := range c.queue(false) {
		_, p := get(t, c, "/console/attention/"+it.ID, reader)
		p.says(it.Action)
		for _, css := range []string{"main button", "main form", "main input"} {
			if p.has(css) {
				t.Errorf("%s: a reader has %s", it.Event, css)
			}
		}
		if status, _ := post(t, c, "/console/attention/"+it.ID+"/dismiss", nil, reader); status != http.StatusForbidden {
			t.Errorf("%s: a reader dismisses: %d", it.Event, status)
		}
		for path, who := range map[string]string{"/console/attention/" + it.ID: "sees", "/console/attention/" + it.ID + "/dismiss": "dismisses"} {
			var status int
			if who == "sees" {
				status, p = get(t, c, path, bob)
			} else {
				status, p = post(t, c, path, nil, bob)
			}
			if status != http.StatusNotFound {
				t.Errorf("%s: another owner %s it: %d", it.Event, who, status)
			}
			p.hides(consoletest.OwnWord)
		}
	}
	if _, p := get(t, c, "/console/attention", reader); p.has("main button") || p.has("main form") {
		t.Error("a reader has buttons in the queue")
	}
	if _, p := get(t, c, "/console/attention", bob); p.has("article.attention") {
		t.Error("another owner sees the queue")
	}
}

// What does not fit an item is refused.
func TestSettleWhatDoesNotFit(t *testing.T) {
	c := open(t)
	forget, unsure := c.item(attention.ForgetRequested, ""), c.item(attention.Unsure, "")
	for path, want := range map[string]int{
		forget.ID + "/verify":       http.StatusBadRequest,
		unsure.ID + "/stand":        http.StatusBadRequest,
		unsure.ID + "/correct":      http.StatusBadRequest, // without a text
		unsure.ID + "/nonsense":     http.StatusNotFound,
		"0123456789ab" + "/dismiss": http.StatusNotFound,
	} {
		if status, p := post(t, c, "/console/attention/"+path, nil); status != want {
			t.Errorf("%s: %d: %s", path, status, p.text())
		}
	}
}

func TestAttentionOfNothing(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/attention")
	p.says("Nothing needs your attention.")
}
