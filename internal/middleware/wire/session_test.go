package wire_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

func parsed(t testing.TB, d wire.Dialect, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func chat(fields string) string {
	return `{"model":"m",` + fields + `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"How often?"}]}`
}

const uuid = "0b7f9e2a-64a1-4a3e-8c57-d1f2e3a4b5c6"

func TestSessionOf(t *testing.T) {
	for _, tt := range []struct{ name, header, fields, want string }{
		{"the header", "mine", `"prompt_cache_key":"` + uuid + `",`, "mine"},
		{"the cache key, if it is an id", "", `"prompt_cache_key":"` + uuid + `","metadata":{"session_id":"s"},`, uuid},
		{"one in a row", "", `"prompt_cache_key":"ses_40b9c1f2effe7Z1q",`, "ses_40b9c1f2effe7Z1q"},
		{"a session, before a program's cache key", "", `"prompt_cache_key":"support-bot","metadata":{"session_id":"s"},`, "s"},
		{"a conversation", "", `"conversation":"conv_1","user":"ada",`, "conv_1"},
		{"a conversation as an object", "", `"conversation":{"id":"conv_1"},`, "conv_1"},
		{"the response before", "", `"previous_response_id":"resp_1","user":"ada",`, "resp_1"},
		{"Claude Code's session", "", `"metadata":{"user_id":"user_1_account_2_session_` + uuid + `"},`, uuid},
		{"its newer form", "", `"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"` + uuid + `\"}"},`, uuid},
		{"of spaces", " \t", `"metadata":{"session_id":" s "},`, "s"},
		{"with a line break", "a\r\nX-Ken: off", `"metadata":{"session_id":"s"},`, "s"},
		{"with a character that reads backwards", "a\u202eb", `"metadata":{"session_id":"s"},`, "s"},
		{"not UTF-8", "\xff", `"metadata":{"session_id":"s"},`, "s"},
		{"a path", "../../etc/passwd", "", "../../etc/passwd"}, // a name is never a path: file names contain only its safe characters
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wire.SessionOf("o", tt.header, parsed(t, wire.Chat, chat(tt.fields))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A secret that a client takes for a session's name is not stored as one.
func TestASecretIsNoSessionName(t *testing.T) {
	const token = "ghp_" + "9fK2mQx7LpR4tVw8ZsB3nHj6YcD5gAe1uXoT"
	for _, tt := range []struct{ header, fields string }{
		{header: token}, {fields: `"prompt_cache_key":"` + token + `",`}, {fields: `"metadata":{"session_id":"` + token + `"},`},
	} {
		got := wire.SessionOf("o", tt.header, parsed(t, wire.Chat, chat(tt.fields)))
		if !strings.HasPrefix(got, "sha256-") || got != wire.NameOf("o", token) || got == wire.NameOf("p", token) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// A name that only says who it is does not make one conversation of two, nor does
// it lead to another owner's.
func TestConversationsOfOneUserAreSeveral(t *testing.T) {
	of := func(owner, fields, question string) string {
		return wire.SessionOf(owner, "", parsed(t, wire.Chat, strings.Replace(chat(fields), "How often?", question, 1)))
	}
	for _, fields := range []string{`"user":"ada",`, `"safety_identifier":"ada",`, `"metadata":{"user_id":"ada"},`, `"prompt_cache_key":"support-bot-2024",`, ``} {
		a, b := of("o", fields, "How often?"), of("o", fields, "Why?")
		if a == b || !wire.Guessed(a) || strings.Contains(a, "ada") {
			t.Errorf("%s: %q and %q", fields, a, b)
		}
		if again := of("o", fields, "How often?"); again != a {
			t.Errorf("%s: %q, then %q", fields, a, again)
		}
		if other := of("p", fields, "How often?"); other == a {
			t.Errorf("%s: owners share %q", fields, a)
		}
	}
	if of("o", `"user":"ada",`, "How often?") == of("o", `"user":"bob",`, "How often?") {
		t.Error("two users share a session")
	}
}

// Later requests of a conversation are the same session, whatever else changes.
func TestTheBeginningOfAConversationStays(t *testing.T) {
	first := `{"model":"a","messages":[{"role":"system","content":"It is 12:30:01 on 2025-11-21."},{"role":"user","content":"How often?"}]}`
	want := wire.SessionOf("o", "", parsed(t, wire.Chat, first))
	for name, body := range map[string]string{
		"another model": strings.Replace(first, `"a"`, `"b"`, 1),
		"later":         strings.NewReplacer("12:30:01", "9:05:59", "11-21", "11-22").Replace(first),
		"as a part":     strings.Replace(first, `"How often?"`, `[{"type":"text","text":"How often?","cache_control":{"type":"ephemeral"}}]`, 1),
		"two turns on":  strings.Replace(first, `"}]}`, `"},{"role":"assistant","content":"Thrice."},{"role":"user","content":"Why?"}]}`, 1),
	} {
		if got := wire.SessionOf("o", "", parsed(t, wire.Chat, body)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	same := map[wire.Dialect]string{
		wire.Responses: `{"instructions":"It is 12:30:01 on 2025-11-21.","input":"How often?"}`,
		wire.Messages:  `{"system":"It is 12:30:01 on 2025-11-21.","messages":[{"role":"user","content":"How often?"}]}`,
	}
	for d, body := range same {
		if got := wire.SessionOf("o", "", parsed(t, d, body)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestSessionOfNothing(t *testing.T) {
	for _, body := range []string{`{"messages":[]}`, `{"messages":[{"role":"system","content":"x"}],"user":"ada"}`} {
		if s := wire.SessionOf("o", "", parsed(t, wire.Chat, body)); s != "" {
			t.Errorf("%s: %q", body, s)
		}
	}
	image := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,%s"}}]}]}`
	a, b := wire.SessionOf("o", "", parsed(t, wire.Chat, fmt.Sprintf(image, "a"))), wire.SessionOf("o", "", parsed(t, wire.Chat, fmt.Sprintf(image, "b")))
	if a == "" || a == b {
		t.Errorf("pictures: %q and %q", a, b)
	}
}

func TestLongNamesAreHashed(t *testing.T) {
	long := strings.Repeat("x", 4096)
	a := wire.SessionOf("o", long, parsed(t, wire.Chat, chat("")))
	if len(a) > 64 || a != wire.SessionOf("o", long, parsed(t, wire.Chat, chat(""))) || a == wire.SessionOf("p", long, parsed(t, wire.Chat, chat(""))) ||
		a == wire.SessionOf("o", long+"y", parsed(t, wire.Chat, chat(""))) || wire.Guessed(a) {
		t.Errorf("got %q", a)
	}
	if s := wire.SessionOf("o", "<think>a</think>", parsed(t, wire.Chat, chat(""))); strings.Contains(s, "<") {
		t.Errorf("got %q", s)
	}
}

func TestGuessed(t *testing.T) {
	for s, want := range map[string]bool{"": false, "auto-": false, "auto-0123456789abcdef0123456789abcdef": true,
		"auto-0123456789abcdef0123456789abcdeF": false, "auto-0123456789abcdef0123456789abcdef0": false, "0123456789abcdef0123456789abcdef": false} {
		if wire.Guessed(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// Sessions of the agents whose requests were recorded.
func TestSessionsOfAgents(t *testing.T) {
	for path, want := range map[string]string{
		"messages/claude-code": uuid, "messages/server-tools": uuid, "responses/codex": "019aa7c2-6d1e-7f40-8a55-0d8a3c1b2f10",
		"responses/item-references": "conv_1", "responses/node-sdk": "resp_68a1b2c3", "chat/node-sdk": "s-7", "chat/tool-loop": "sess_01JD3Z9QWERTY12345678",
	} {
		body, err := os.ReadFile("testdata/" + path + ".request.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dialects {
			if strings.HasPrefix(path, d.String()) {
				if got := wire.SessionOf("o", "", parsed(t, d, string(body))); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		}
	}
}

func ExampleSessionOf() {
	r, err := wire.Parse(wire.Messages, []byte(`{"metadata":{"user_id":"user_ab12_account_cd34_session_0b7f9e2a"},"messages":[{"role":"user","content":"Hi"}]}`))
	fmt.Println(wire.SessionOf("default", "", &r), wire.SessionOf("default", "from-the-header", &r), err)
	// Output: 0b7f9e2a from-the-header <nil>
}

// Qwen Code begins a user's message with reminders, and leaves some of them out when it goes
// on in another process. The conversation stays the same, and what was asked is the question.
func TestRemindersArePartOfNoConversation(t *testing.T) {
	const skills, date, asked = `{"type":"text","text":"<system-reminder>\nSkills.\n</system-reminder>"}`,
		`{"type":"text","text":"<system-reminder>\nThe current date is 2026-11-25.\n</system-reminder>"}`, `{"type":"text","text":"How often?"}`
	var sessions []string
	for _, content := range []string{skills + "," + date + "," + asked, skills + "," + asked} {
		r, err := wire.Parse(wire.Chat, []byte(`{"messages":[{"role":"system","content":"You are Qwen Code."},{"role":"user","content":[`+content+`]}]}`))
		if err != nil || len(r.Messages) != 2 || r.Messages[1].Text != "How often?" {
			t.Fatalf("%+v, %v", r.Messages, err)
		}
		sessions = append(sessions, wire.SessionOf("", "", &r))
	}
	if sessions[0] != sessions[1] {
		t.Errorf("sessions %q", sessions)
	}
}
