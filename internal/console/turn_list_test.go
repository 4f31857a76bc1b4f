package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

// dev and mate are developers: their keys ask, and read, and share an owner.
var (
	dev  = access.Principal{Name: "dev", Owner: ken.DefaultOwner, Rights: []access.Right{access.Chat, access.Read, access.Write}}
	mate = access.Principal{Name: "mate", Owner: ken.DefaultOwner, Rights: []access.Right{access.Chat, access.Read}}
)

// withRing has the console ask for keys. The tests' principals act as visitors who have logged in.
func withRing(s *setup) {
	s.console.Ring = access.NewRing(access.Entry{Hash: access.HashKey(access.NewKey()), Principal: operator})
}

// by makes a turn with a key, in a separate session.
func by(who access.Principal, session string) func(*ken.Turn) {
	return func(t *ken.Turn) { t.Key, t.Session, t.Model = who.Name, session, "gpt-4.1-mini" }
}

// A line says what was asked, by whom, and whether there was a block or why not.
func TestTurnsSayWhatWasAsked(t *testing.T) {
	c := open(t, bare, patient)
	c.learn("", "The ledger listens on port 8071.")
	c.turn("On which port does the ledger listen?", by(dev, "s-port"))
	c.turn("thanks!", by(dev, "s-thanks"))
	c.turn("What is <b>bold</b> about penguins?", by(dev, "s-penguins"))
	_, p := get(t, c, "/console/turns")
	p.says("On which port does the ledger listen?", "gpt-4.1-mini", "agent-new", "s-port", "1 item", "block", "no block", "thanks!", "What is <b>bold</b> about penguins?")
	for query, want := range map[string][]string{
		"q=PORT+ledger":                {"On which port"},
		"q=nobody+said+that":           nil,
		"q=see":                        {"What is", "thanks!", "On which port"}, // the answer says it
		"block=none":                   {"What is", "thanks!"},
		"block=none&q=thanks":          {"thanks!"},
		"agent=agent-new&mode=none":    {"thanks!"},
		"span=hour":                    {"What is", "thanks!", "On which port"},
		"from=2026-03-14":              {"What is", "thanks!", "On which port"},
		"from=2026-03-14T09:01":        nil,
		"to=2026-03-14T09:00":          nil,
		"to=2026-03-15&session=s-port": {"On which port"},
	} {
		status, p := get(t, c, "/console/turns?"+query)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", query, status)
		}
		var got []string
		for _, a := range p.all(".turns h2 a") {
			got = append(got, text(a))
		}
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", query, got, want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		if len(want) == 0 {
			p.says("No stored turn matches.")
		}
	}
	for _, query := range []string{"from=yesterday", "to=2026-13-01", "span=century", "from=2026-03-15&to=2026-03-14"} {
		if status, p := get(t, c, "/console/turns?"+query); status != http.StatusBadRequest || !strings.Contains(p.text(), "Use ") {
			t.Errorf("%s: %d %s", query, status, p.text())
		}
	}
}

// A search reads so many turns and no more, and the next page goes on where it ended.
func TestTurnsSearchedInParts(t *testing.T) {
	c := open(t, bare)
	for i := range 45 {
		c.turn(fmt.Sprintf("Question %d about owls", i))
	}
	var all []string
	for path := "/console/turns?q=owls"; path != ""; {
		_, p := get(t, c, path)
		for _, a := range p.all(".turns h2 a") {
			all = append(all, text(a))
		}
		path = ""
		if next := p.all(`a[rel="next"]`); len(next) > 0 {
			path = attr(next[0], "href")
		}
	}
	if len(all) != 45 || all[0] != "Question 44 about owls" || all[44] != "Question 0 about owls" {
		t.Errorf("%d: %q", len(all), all)
	}
}

// A visitor who may not operate sees the turns and sessions of their own key completely, and
// no messages of others.
func TestOwnTurns(t *testing.T) {
	c := open(t, bare, patient, withRing)
	c.learn("", "The ledger listens on port 8071.")
	own := c.turn("On which port does the ledger listen?", by(dev, "s-dev"))
	others := c.turn("Where does the secret penguin ledger listen?", by(mate, "s-mate"))
	shared := c.turn("Mine in the shared ledger session.", by(dev, "s-both"))
	c.turn("Theirs in the penguin session.", by(mate, "s-both"))

	_, p := get(t, c, "/console/turns", dev)
	if got := listed(p); len(got) != 2 || got[0] != shared.Turn || got[1] != own.Turn {
		t.Errorf("own turns: %q", got)
	}
	p.says("Your turns", "On which port does the ledger listen?")
	p.hides("penguin")
	_, p = get(t, c, "/console/turns/"+own.Turn, dev)
	p.says("Question", "On which port does the ledger listen?", "The block as the model saw it", "Answer", "I see.")
	if !p.has("#block") || p.has(`main form[method="post"]`) {
		t.Error("no block, or a form that changes something")
	}
	if _, p := get(t, c, "/console/turns/"+others.Turn, dev); p.has("#question") || p.has("#answer") || p.has("#block") {
		t.Error("a developer sees what was said in another’s turn")
	}
	for _, path := range []string{"/console/turns?session=s-mate", "/console/turns?session=s-mate&q=penguins", "/console/sessions/s-mate", "/console/sessions/s-both", "/console/sessions"} {
		status, p := get(t, c, path, dev)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		p.hides("penguin ", "I see.")
	}
	if _, p = get(t, c, "/console/turns?session=s-mate&q=penguin", dev); len(listed(p)) > 0 {
		t.Error("a search tells what others’ turns say")
	}
	_, p = get(t, c, "/console/sessions", dev)
	if !p.links("/console/sessions/s-dev") || p.links("/console/sessions/s-mate") || p.links("/console/sessions/s-both") {
		t.Error("the list of sessions is not the developer’s own")
	}
	_, p = get(t, c, "/console/sessions/s-dev", dev)
	p.says("Messages and blocks", "On which port does the ledger listen?", "I see.")
	// Who can only read has no turns, and a name alone opens nothing where there are no keys.
	_, p = get(t, c, "/console/turns", access.Principal{Name: "dev", Owner: ken.DefaultOwner, Rights: []access.Right{access.Read}})
	p.says("need the right operate")
	if status, _ := get(t, c, "/console/sessions", reader); status != http.StatusForbidden {
		t.Errorf("a reader gets the sessions: %d", status)
	}
	_, p = get(t, c, "/console/turns", access.Principal{Name: "dev", Owner: "bob", Rights: dev.Rights})
	p.hides("ledger")
}

// A session is shown in order: question, block, call, result, answer.
func TestTimeline(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/sessions/"+c.project.Sessions["incident"])
	var order []string
	for _, li := range p.all(".talk li") {
		order = append(order, attr(li, "id"))
	}
	turns := 0
	for i, id := range order {
		if strings.HasPrefix(id, "t-") {
			turns++
			if i == 0 || !strings.HasPrefix(order[i-1], "m-") || !strings.Contains(text(p.one("#"+order[i-1])), "user") {
				t.Errorf("%s does not stand behind a question", id)
			}
		}
	}
	if turns != 7 {
		t.Errorf("%d turns on the timeline: %q", turns, order)
	}
	p.says("calls run_command", "result of run_command", "Block:", "characters", "TestSend fails with 503.")
}

// The filter's times are in UTC, and it finds the turns between two of them.
func TestTurnsBetween(t *testing.T) {
	c := open(t)
	at := now.Add(-30 * time.Hour)
	q := url.Values{"from": {at.Add(-time.Minute).Format("2006-01-02T15:04")}, "to": {at.Add(5 * time.Minute).Format("2006-01-02T15:04")}}
	_, p := get(t, c, "/console/turns?"+q.Encode())
	if got := listed(p); len(got) != 2 || got[1] != c.project.Turns["settlement 1"] {
		t.Errorf("%q", got)
	}
	// A date alone is shown in the field too, so that the next search keeps it.
	_, p = get(t, c, "/console/turns?to=2026-03-12")
	if got := attr(p.one("#turn-to"), "value"); got != "2026-03-12T00:00" || !p.links("/console/turns") {
		t.Errorf("until %q", got)
	}
	p.says("Until: 2026-03-12")
}

// However long messages are, no page about them is longer than 300 kB.
func TestPagesOfLongMessages(t *testing.T) {
	c := open(t, bare)
	long := strings.Repeat("a long <word> ", 2000)
	msgs := []ken.Message{}
	last := ken.Receipt{}
	for i := range 60 {
		msgs = append(msgs, ken.Message{Role: "user", Text: fmt.Sprint(i, long)})
		last = c.turn("", func(t *ken.Turn) { t.Session, t.Messages = "s-long", msgs })
		msgs = append(msgs, ken.Message{Role: "assistant", Text: "I see."})
	}
	for _, path := range []string{"turns", "turns?q=long", "turns/" + last.Turn, "turns/" + last.Turn + "/test", "sessions/s-long", "sessions/s-long?from=50", ""} {
		status, p := get(t, c, "/console/"+path)
		if status != http.StatusOK || len(p.body) > 300_000 {
			t.Errorf("%s: %d, %d bytes", path, status, len(p.body))
		}
	}
}
