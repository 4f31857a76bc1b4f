package harvest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// A session of work becomes one episode, facts, findings and candidates, each with its
// evidence.
func TestWhatASessionTeaches(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	out := r.end(t, "s1")
	if out.Episode == "" || len(out.Learned) < 4 || len(out.Findings) == 0 || len(out.Patterns) < 2 || out.Model != "" {
		t.Errorf("outcome %+v", out)
	}
	for _, c := range r.all(t) {
		if c.Session != "s1" || c.Branch != "main" || c.Project != "billing" || c.Scope != scope || c.Key == "" || c.Owner != ken.DefaultOwner {
			t.Errorf("%s: session %q, branch %q, project %q, scope %v, key %q", c.Text, c.Session, c.Branch, c.Project, c.Scope, c.Key)
		}
		if c.Actor.Type != "system" && c.Actor.Type != "tool" {
			t.Errorf("%s: actor %+v", c.Text, c.Actor)
		}
		if c.Kind == ken.KindPattern != (c.Status == ken.StatusHypothesis) {
			t.Errorf("%s %s: status %s", c.Kind, c.Text, c.Status)
		}
		if (c.Kind == ken.KindFact || c.Kind == ken.KindEpisode) && (c.CreatedAt.Before(monday) || c.CreatedAt.After(r.clock.now())) {
			t.Errorf("%s: created %v", c.Text, c.CreatedAt)
		}
	}
	episode := r.kind(t, ken.KindEpisode)
	if len(episode) != 1 || !strings.Contains(episode[0].Heading, "nightly export") || !strings.Contains(episode[0].Text, "without a model") {
		t.Fatalf("episodes %s", texts(episode))
	}
	var body session.EpisodeBody
	if err := json.Unmarshal(episode[0].Body, &body); err != nil || body.Session != "s1" || body.Part != 1 || body.Messages != len(coding()) || !body.Started.Before(body.Ended) {
		t.Errorf("body %+v, %v", body, err)
	}
	if got := episode[0].Support(nil); got.Trust != ken.TrustAgent || got.Tier != ken.Assumed {
		t.Errorf("an episode is %v of %v", got.Tier, got.Trust)
	}
}

// The evidence of a fact quotes its message and names the speaker.
func TestFactsQuoteTheirSource(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	r.end(t, "s1")
	tr, err := r.journal.Read(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]ken.Message{}
	for i := range tr.Entries {
		text[tr.Entries[i].ID()] = tr.Entries[i].Message
	}
	for _, c := range r.kind(t, ken.KindFact) {
		e := c.Evidence[0]
		m := text[e.MessageID]
		if len(c.Evidence) != 1 || e.Kind != ken.EvidenceMessage || e.SessionID != "s1" || e.Detail == "" || !strings.Contains(m.Text, e.Detail) {
			t.Errorf("%s: evidence %+v of %q", c.Text, c.Evidence, m.Text)
		}
		if want := map[string]ken.Trust{"user": ken.TrustOperator, "assistant": ken.TrustAgent}[m.Role]; e.Trust != want || !e.FetchedAt.Equal(c.CreatedAt) {
			t.Errorf("%s: %v, at %v, from %s", c.Text, e.Trust, e.FetchedAt, m.Role)
		}
	}
	for words, domain := range map[string]string{"drop Oracle": "decision", "tabs over spaces": "preference", "commit directly": "instruction", "pg-stage-2": "fact"} {
		if c := r.find(t, words); c.Domain != domain {
			t.Errorf("%s is a %s, want %s", c.Text, c.Domain, domain)
		}
	}
}

func TestPatternsAndFindingsOfWork(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	r.end(t, "s1")
	for kind, want := range map[ken.Kind][]string{
		ken.KindPattern: {"Shell command fails repeatedly: make lint", "Shell command succeeds: go test ./billing/...", "File is modified repeatedly in sessions: billing/export.go"},
		ken.KindFinding: {"make lint", "billing/export.go"},
	} {
		have := texts(r.kind(t, kind))
		for _, w := range want {
			if !strings.Contains(have, w) {
				t.Errorf("no %s says %q:%s", kind, w, have)
			}
		}
	}
}

// With NoFacts everything except facts is stored.
func TestWithoutFacts(t *testing.T) {
	r := newRig(t, func(o *harvest.Options) { o.NoFacts = true })
	r.say(t, "s1", coding()...)
	out := r.end(t, "s1")
	if n := len(r.kind(t, ken.KindFact)); n != 0 || out.Episode == "" || len(out.Findings) == 0 || len(out.Patterns) == 0 {
		t.Errorf("%d facts, %+v", n, out)
	}
}

// Results of tools are stored only if the options ask for it. They are external, and
// nothing trusted is derived from them.
func TestIngestIsOptIn(t *testing.T) {
	page := "The gateway listens on port 7443 and needs a client certificate of the internal authority."
	for _, on := range []bool{false, true} {
		r := newRig(t, func(o *harvest.Options) { o.Ingest = on })
		r.say(t, "s1", user("What does the gateway's page say about ports?"), calls("w", "WebFetch", `{"url": "https://example.com/gateway"}`), tool("w", page), assistant("It needs a certificate."))
		r.end(t, "s1")
		found := 0
		for _, c := range r.all(t) {
			if strings.Contains(c.Text, "7443") && c.Domain == "ingest" {
				found++
				if got := c.Support(nil).Trust; got != ken.TrustExternal {
					t.Errorf("trust %v", got)
				}
			}
		}
		if want := map[bool]int{true: 1}[on]; found != want {
			t.Errorf("ingest %v: %d outputs", on, found)
		}
	}
}

// A fact is about the entity that the extraction named first. It is about its speaker if
// it describes the speaker or names nothing.
func TestFactsAreAboutTheirSubject(t *testing.T) {
	for name, tt := range map[string]struct {
		text, role, who string
		entities, want  []string
	}{
		"named":               {"Payments requires the ledger.", "user", "", []string{"payments", "ledger"}, []string{"payments", "ledger"}},
		"the user":            {"The user prefers tabs in Go.", "user", "", []string{"Go"}, []string{"Go", "user"}},
		"the user by name":    {"The user prefers tabs in Go.", "user", "Ana", []string{"Go"}, []string{"Go", "Ana"}},
		"known already":       {"The user prefers tabs.", "user", "Ana", []string{"ana"}, []string{"ana"}},
		"nothing is named":    {"It was great.", "user", "", nil, []string{"user"}},
		"an assistant's":      {"The user prefers tabs in Go.", "assistant", "Bob", []string{"Go"}, []string{"Go"}},
		"a nameless one's":    {"It was great.", "assistant", "", nil, nil},
		"a tool's":            {"It was great.", "tool", "bash", nil, nil},
		"a speaker who is of": {"It was great.", "assistant", "Bob", nil, []string{"Bob"}},
	} {
		e := session.Entry{Message: ken.Message{Role: tt.role, Name: tt.who}}
		if got := harvest.EntitiesOf(&draft.Statement{Text: tt.text, Entities: tt.entities}, &e); !slices.Equal(got, tt.want) {
			t.Errorf("%s: about %q, want %q", name, got, tt.want)
		}
	}
}
