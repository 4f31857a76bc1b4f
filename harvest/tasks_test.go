package harvest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// A task that the assistant says it did is marked, and stays. A report about something else, a plan
// and a report from before the task mark none.
func TestTasksThatTheAssistantDid(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("Still open:\n- docs for the webhook endpoint\n- retry of failed invoices\n- rate limit on the login form"), assistant("Noted."))
	r.end(t, "s1")
	verified := r.writeClaim(t, "Still to do: Docs for the webhook endpoint in French.", func(c *ken.Claim) { c.Status, c.Session, c.Key = ken.StatusVerified, "s0", "key1" })
	byHand := r.writeClaim(t, "Still to do: Docs for the webhook endpoint.", func(c *ken.Claim) { c.Key = "key2" })
	r.clock.pass(24 * time.Hour)
	r.say(t, "s2", user("go on with the webhook"), assistant("I wrote the docs for the webhook endpoint in French in docs/webhook.md. I will add the retry of failed invoices next."),
		user("and the form?"), assistant("I changed the color of the login form."))
	r.end(t, "s2")
	r.say(t, "s3", user("Still open: the invoices' footer needs the VAT id."), assistant("Noted."))
	r.end(t, "s3")
	for _, c := range r.kind(t, ken.KindFact) {
		if c.ID == verified.ID || c.ID == byHand.ID {
			if c.Text != verified.Text && c.Text != byHand.Text {
				t.Errorf("a person's claim was changed: %q", c.Text)
			}
			continue
		}
		marked := strings.Contains(c.Text, "(perhaps until 19 May 2026, now done, says the assistant)")
		if marked != strings.Contains(c.Text, "Docs for the webhook") || !marked && strings.Contains(c.Text, "perhaps") {
			t.Errorf("%q", c.Text)
		}
	}
}
