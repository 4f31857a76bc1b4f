package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// What Aider 0.86.2 was seen to send, shortened: every second message is an answer.
var (
	aiderExample = []string{"Change the greeting to be more casual", "Ok, I will:\n\n1. Switch the greeting text.",
		"I switched to a new code base. Please don't consider the above files or try to edit them any longer.", "Ok."}
	aiderMap     = []string{"Here are summaries of some files present in my git repository.\nDo not propose changes.\n\npay.py:\n│def f(a, b):\n", "Ok, I won't try and edit those files without asking first."}
	aiderNoFiles = []string{"I am not sharing any files that you can edit yet.", "Ok."}
	aiderFile    = []string{"I have *added these files to the chat* so you can go ahead and edit them.\n\npay.py\n```\nz = 1\n```\n", "Ok, any changes I propose will be to those files."}
	aiderRan     = []string{"I ran this command:\n\necho hello\n\nAnd got this output:\n\nhello\n\n", "Ok."}
	aiderAsked   = []string{"How often?", "Three times."}
)

const aiderReminder = "\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\nReply in English.\n\n"

func aiderBody(t *testing.T, d wire.Dialect, said ...[]string) string {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", "Act as an expert software developer."}}
	if d == wire.Messages {
		messages = nil
	}
	for _, some := range said {
		for i, text := range some {
			messages = append(messages, message{[]string{"user", "assistant"}[i%2], text})
		}
	}
	b, err := json.Marshal(map[string]any{"model": "m", "messages": messages, "system": "Act as an expert software developer."})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What Aider writes in the user's name is nothing that the user said, and a conversation
// is the same whichever files it is about.
func TestAiderWritesInTheUsersName(t *testing.T) {
	system := ken.Message{Role: "system", Text: "Act as an expert software developer."}
	user := func(s string) ken.Message { return ken.Message{Role: "user", Text: s} }
	model := func(s string) ken.Message { return ken.Message{Role: "assistant", Text: s} }
	asked := []ken.Message{system, user("How often?")}
	answered := []ken.Message{system, user("How often?"), model("Three times."), user("thanks!")}
	last := func(s string) []string { return []string{s} }
	for _, tt := range []struct {
		name string
		said [][]string
		want []ken.Message
	}{
		{"a question", [][]string{aiderExample, aiderMap, aiderNoFiles, last("How often?" + aiderReminder)}, asked},
		{"without an example", [][]string{aiderNoFiles, last("How often?\n\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block")}, asked},
		{"with a language", [][]string{aiderNoFiles, last("How often?\n\nReply in English.\n")}, asked},
		{"the next one", [][]string{aiderExample, aiderMap, aiderFile, aiderAsked, aiderRan, last("thanks!" + aiderReminder)}, answered},
		{"after an edit", [][]string{aiderExample, aiderMap, aiderAsked, {"I committed the changes with git hash 1f2e & commit msg: fix: pay", "Ok."}, aiderFile, last("thanks!")}, answered},
		{"of another program", [][]string{aiderAsked, aiderRan, last("thanks!" + aiderReminder)},
			[]ken.Message{system, user("How often?"), model("Three times."), user(aiderRan[0]), model("Ok."), user("thanks!" + aiderReminder)}},
		{"another answer", [][]string{{aiderNoFiles[0], "Why not?"}, last("How often?")}, []ken.Message{system, user(aiderNoFiles[0]), model("Why not?"), user("How often?")}},
		{"a language in a question", [][]string{aiderNoFiles, last("How often?\n\nReply in French.\n\nAnd why?\n")}, []ken.Message{system, user("How often?\n\nReply in French.\n\nAnd why?\n")}},
	} {
		for _, d := range []wire.Dialect{wire.Chat, wire.Messages} {
			body := aiderBody(t, d, tt.said...)
			r := parsed(t, d, body)
			if diff := cmp.Diff(tt.want, r.Messages); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, d, diff)
			}
			at := len(r.Messages) - 1
			out, err := wire.Splice([]byte(body), *r, []wire.Insertion{{Before: at, Text: "BLOCK"}})
			if err != nil {
				t.Fatal(err)
			}
			asks, err := json.Marshal(r.Messages[at].Text)
			if err != nil {
				t.Fatal(err)
			}
			if asks = asks[:len(asks)-1]; !strings.Contains(strings.ReplaceAll(string(out), `{"role":"user","content":"BLOCK"},`, "HERE"), `HERE{"role":"user","content":`+string(asks)) {
				t.Errorf("%s, %s: the block is not before the question: %s", tt.name, d, out)
			}
		}
	}
	one := wire.SessionOf("o", "", parsed(t, wire.Chat, aiderBody(t, wire.Chat, aiderExample, aiderMap, aiderNoFiles, last("How often?"+aiderReminder))))
	if again := wire.SessionOf("o", "", parsed(t, wire.Chat, aiderBody(t, wire.Chat, aiderFile, aiderAsked, last("thanks!")))); again != one {
		t.Errorf("the conversation became another one: %s, then %s", one, again)
	}
	if other := wire.SessionOf("o", "", parsed(t, wire.Chat, aiderBody(t, wire.Chat, aiderExample, aiderMap, aiderNoFiles, last("Why?")))); other == one {
		t.Error("two conversations are one")
	}
}
