package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
)

const retried = "Payments are retried three times."

// chatter may make model calls, and nothing else.
func chatter(owner string) access.Principal {
	return access.Principal{Name: "chat-" + owner, Owner: owner, Rights: []access.Right{access.Chat}}
}

// prepare sends messages as JSON, for a session.
func prepare(k *kit, session string, messages ...string) api.PreparedTurn {
	k.Helper()
	return post[api.PreparedTurn](k, "/api/turns", api.PrepareRequest{Session: session, Messages: json.RawMessage("[" + strings.Join(messages, ",") + "]")})
}

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

// said is what the journal has of a session.
func said(k *kit, name string) (out []string) {
	k.Helper()
	if err := k.layer.End(k.Context(), k.who.Owner, "none"); err != nil { // waits for the journal
		k.Fatal(err)
	}
	for _, m := range get[api.Transcript](k, "/api/sessions/"+name+"/messages").Messages {
		out = append(out, m.Role+": "+m.Text)
	}
	return out
}

func TestAPreparedTurnGetsItsBlock(t *testing.T) {
	k := newKit(t)
	k.learn(retried)
	chat := k.as(chatter("anna"))
	question := message("user", "How often are payments retried?")

	first := prepare(chat, "monday", message("system", "Be brief."), question)
	if len(first.Insertions) != 1 || first.Insertions[0].Before != 1 || !strings.Contains(first.Insertions[0].Text, retried) || first.Session != "monday" || first.Turn == "" {
		t.Fatalf("%+v", first)
	}
	answer := api.AnswerRequest{Message: json.RawMessage(`{"role":"assistant","content":"Three times.","refusal":null}`)}
	post[api.Answered](chat, "/api/turns/"+first.Turn+"/answer", answer)
	chat.ask(http.MethodPost, "/api/turns/"+first.Turn+"/answer", answer).problem(http.StatusNotFound, "not_found", "waits for an answer")

	// The next turn keeps the block where it was, and the answer counts once.
	second := prepare(chat, "monday", message("system", "Be brief."), question, message("assistant", "Three times."), message("user", "thanks!"))
	if !slices.Equal(second.Insertions, first.Insertions) {
		t.Errorf("%+v, then %+v", first.Insertions, second.Insertions)
	}
	want := []string{"user: How often are payments retried?", "assistant: Three times.", "user: thanks!"}
	if got := said(k, "monday"); !slices.Equal(got, want) {
		t.Errorf("the journal has %q", got)
	}
	if r := get[map[string]any](k, "/api/turns/"+first.Turn); r["session"] != "monday" {
		t.Errorf("receipt %v", r)
	}
}

// Without a session, conversations that begin alike are told apart by their first answer.
func TestPreparedTurnsWithoutASession(t *testing.T) {
	k := newKit(t)
	question := message("user", "How often are payments retried?")
	one, two := prepare(k, "", question), prepare(k, "", question)
	post[api.Answered](k, "/api/turns/"+one.Turn+"/answer", `{"message":{"role":"assistant","content":"Once."}}`)
	post[api.Answered](k, "/api/turns/"+two.Turn+"/answer", `{"message":{"role":"assistant","content":"Twice."}}`)
	again := prepare(k, "", question, message("assistant", "Once."), message("user", "thanks!"))
	other := prepare(k, "", question, message("assistant", "Twice."), message("user", "thanks!"))
	if again.Session == "" || again.Session == other.Session {
		t.Errorf("sessions %q and %q", again.Session, other.Session)
	}
}

// Places count in the messages that were sent, whatever of them an agent wrote itself.
func TestPlacesCountInWhatWasSent(t *testing.T) {
	k := newKit(t)
	k.learn(retried)
	got := prepare(k, "s", message("user", "<environment_context>\n  <cwd>/src</cwd>\n</environment_context>"), message("user", "How often are payments retried?"))
	if len(got.Insertions) != 1 || got.Insertions[0].Before != 1 {
		t.Errorf("%+v", got)
	}
}

func TestPreparedTurnThatIsRefused(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct{ body, says string }{
		{`{}`, "messages"},
		{`{"messages":"hello"}`, "messages"},
		{`{"messages":[1]}`, "messages[0]"},
		{`{"messages":[],"session":"s"}`, "session"},
	} {
		k.ask(http.MethodPost, "/api/turns", tt.body).problem(http.StatusBadRequest, "invalid", tt.says)
	}
	turn := prepare(k, "s", message("user", "hello"))
	for _, body := range []string{`{}`, `{"message":"hello"}`, `{"message":null}`} {
		k.ask(http.MethodPost, "/api/turns/"+turn.Turn+"/answer", body).problem(http.StatusBadRequest, "invalid", "message")
	}
	// Another owner's turn is none.
	k.as(operator("bert")).ask(http.MethodPost, "/api/turns/"+turn.Turn+"/answer", `{"message":{"role":"assistant","content":"hi"}}`).
		problem(http.StatusNotFound, "not_found")
}

// A turn without weight is noted, and a session that began just now can be ended.
func TestATurnWithoutWeightIsNoted(t *testing.T) {
	k := newKit(t)
	k.learn(retried)
	got := post[api.PreparedTurn](k, "/api/turns", `{"session_id":"s","weight":"none","messages":[{"role":"user","content":"How often are payments retried?"},{"role":"assistant","content":"Three times."}]}`)
	if len(got.Insertions) != 0 {
		t.Errorf("%+v", got)
	}
	k.ask(http.MethodPost, "/api/sessions/s/end", nil).want(http.StatusOK)
	if have, want := said(k, "s"), []string{"user: How often are payments retried?", "assistant: Three times."}; !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
}

func TestAnIncognitoTurnLeavesNothing(t *testing.T) {
	k := newKit(t)
	k.learn(retried)
	got := post[api.PreparedTurn](k, "/api/turns", `{"session_id":"s","incognito":true,"messages":[{"role":"user","content":"How often are payments retried?"}]}`)
	if len(got.Insertions) != 1 {
		t.Errorf("%+v", got)
	}
	post[api.Answered](k, "/api/turns/"+got.Turn+"/answer", `{"message":{"role":"assistant","content":"Three times."}}`)
	if err := k.layer.End(k.Context(), "anna", "none"); err != nil {
		t.Fatal(err)
	}
	k.ask(http.MethodGet, "/api/sessions/s", nil).problem(http.StatusNotFound, "not_found")
	k.ask(http.MethodGet, "/api/turns/"+got.Turn, nil).problem(http.StatusNotFound, "not_found")
}
