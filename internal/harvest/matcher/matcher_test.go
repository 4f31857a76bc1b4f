package matcher_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/run/session"
)

func phone(t testing.TB) ken.Claim {
	e := ken.FromMessage("s1", "m3", "the on-call phone of Priya is +49 151 2345678")
	c, err := ken.NewClaim("The on-call phone of Priya is +49 151 2345678.", e)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What holds a claim that is to be forgotten, and what merely speaks of the same.
func TestTracesInTexts(t *testing.T) {
	c := phone(t)
	m := matcher.New(&c)
	for text, want := range map[string]bool{
		"Remember that  THE ON-CALL phone of Priya\nis +49 151 2345678, please.": true,
		"Call 2345678.": true,
		"As noted, the on-call phone of Priya is +49 151 2345678.": true,
		"Priya is on call this week.":                              false,
		"The phone of the office is +49 30 1111.":                  false,
		"On 2026-05-18 the release went out.":                      false,
		"":                                                         false,
	} {
		if got := m.MatchText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A short quote stands in many a text, and a day points at nobody.
func TestTracesDoNotTakeTooMuch(t *testing.T) {
	c, err := ken.NewClaim("The release is on 2026-05-18.", ken.FromMessage("s1", "m1", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	m := matcher.New(&c)
	for text, want := range map[string]bool{"yes": true, "yes, do that": false, "The audit is on 2026-05-18.": false, "The release is on 2026-05-18!": true} {
		if got := m.MatchText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTracesInMessagesAndClaims(t *testing.T) {
	c := phone(t)
	m := matcher.New(&c)
	for name, tt := range map[string]struct {
		session string
		e       session.Entry
		want    bool
	}{
		"the source itself": {"s1", session.Entry{Seq: 3, Message: user("anything")}, true},
		"another session's": {"s2", session.Entry{Seq: 3, Message: user("anything")}, false},
		"a call":            {"s2", session.Entry{Seq: 1, Message: calls("c", "sms", `{"to": ["+49 151 2345678"]}`)}, true},
		"another call":      {"s2", session.Entry{Seq: 1, Message: calls("c", "sms", `{"to": ["+1"]}`)}, false},
	} {
		if name == "the source itself" && (&tt.e).ID() != "m3" {
			m = matcher.New(func() *ken.Claim { c.Evidence[0].MessageID = (&tt.e).ID(); return &c }())
		}
		if got := m.MatchMessage(tt.session, &tt.e); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	other, err := ken.NewClaim("Priya is on call.", ken.FromMessage("s1", "m9", "Priya, +49 151 2345678, is on call"))
	if err != nil {
		t.Fatal(err)
	}
	if !m.MatchClaim(&other) {
		t.Error("a claim whose evidence quotes it is no trace")
	}
}

// Of an episode that tells it the rest is kept.
func TestTheRestOfAnEpisode(t *testing.T) {
	c := phone(t)
	m := matcher.New(&c)
	e, err := ken.NewClaim("Session, 18 May.\nGoal: Plan the on-call week. Fix the export.\nTo remember: The on-call phone of Priya is +49 151 2345678.\nPassed: `go test`", ken.FromMessage("s1", "m1", ""))
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Kind, e.Key = "0195616d-8c00-7000-8000-0000003f9a1c", ken.KindEpisode, "episode:s1"
	e.Body, _ = json.Marshal(session.EpisodeBody{Session: "s1", Open: []string{"Is it 2345678?", "Who tests?"}})
	rest, ok := m.Redact(&e)
	if !ok || rest.ID != "" || rest.Key != e.Key || strings.Contains(rest.Text+string(rest.Body), "2345678") ||
		!strings.Contains(rest.Text, "Fix the export.") || !strings.Contains(string(rest.Body), "Who tests?") {
		t.Errorf("%v, %+v\n%s", ok, rest, rest.Body)
	}
	e.Text = "The on-call phone of Priya is +49 151 2345678."
	if _, ok := m.Redact(&e); ok {
		t.Error("an episode of nothing else is kept")
	}
	e.Text = "Session, 18 May 2026.\nGoal: The on-call phone of Priya is +49 151 2345678.\n(Extracted by rules, without a model.)"
	if rest, ok := m.Redact(&e); ok {
		t.Errorf("an episode that says no more is kept: %q", rest.Text)
	}
	e.Text = "Session, 18 May 2026.\nGoal: The on-call phone of Priya is +49 151 2345678.\nPassed: `go test`\n(Extracted by rules, without a model.)"
	if _, ok := m.Redact(&e); !ok {
		t.Error("an episode that says more is not kept")
	}
}

func user(text string) ken.Message { return ken.Message{Role: "user", Text: text} }

func calls(id, name, args string) ken.Message {
	return ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: name, Arguments: args}}}
}

// Claims that are about the same thing, and say something else about it, are not traces of each
// other.
func TestOtherClaimsAboutTheSameThing(t *testing.T) {
	for thing, texts := range map[string][]string{
		"payments api":    {"The payments API uses Stripe.", "The payments API is owned by Ana.", "The payments API must not log card numbers.", "The payments API answers within 200 ms."},
		"login page":      {"The login page is built with React.", "The login page has a captcha."},
		"mr patel":        {"Mr Patel is allergic to nuts.", "Mr Patel lives in Leeds."},
		"billing service": {"Deploy the billing service on Thursdays.", "The billing service listens on 8081.", "Kim wrote the billing service."},
	} {
		var claims []ken.Claim
		for _, text := range texts {
			c, err := ken.NewClaim(text, ken.FromUserStatement("s"+text, "m"))
			if err != nil {
				t.Fatal(err)
			}
			c.Entities, c.Heading = []string{thing}, thing
			claims = append(claims, c)
		}
		for i := range claims {
			m := matcher.New(&claims[i])
			for j := range claims {
				if got := m.MatchClaim(&claims[j]); got != (i == j) {
					t.Errorf("%q is a trace of %q: %v", claims[j].Text, claims[i].Text, got)
				}
			}
		}
	}
	door, err := ken.NewClaim("The door code is 4417.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	other := door
	other.ID, other.Text, other.Entities, other.Evidence = "", "It changes in May.", []string{"door code 4417"}, nil
	if m := matcher.New(&door); !m.MatchClaim(&other) {
		t.Error("a claim whose entity has the number is no trace")
	}
}
