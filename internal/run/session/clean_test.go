package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/run/session"
)

const block = guardrail.FrameOpen + "\nReference data.\n\n[k:1] Verified | repo | 2026-05-01\nThe port is 8443.\n" + guardrail.FrameClose

func TestAppendCleans(t *testing.T) {
	token := "ghp_" + random36
	for name, c := range map[string]struct {
		in   ken.Message
		want string // "" is not kept
	}{
		"reasoning goes":                          {assistant("<think>The user is wrong.</think>It is 8443."), "It is 8443."},
		"reasoning alone is no message":           {assistant("<think>The user is wrong.</think>"), ""},
		"reasoning that is not closed":            {assistant("It is 8443.\n<scratch_pad>or is it"), "It is 8443."},
		"a user may paste a model's":              {user("it said <think>hm</think> and stopped"), "it said  and stopped"},
		"a secret goes, its kind stays":           {user("use " + token + " for it"), "use [redacted:github-token] for it"},
		"invisible characters go":                 {user("a\u200bb\x07c\r\nd"), "abc\nd"},
		"white space around goes":                 {user("  a \n"), "a"},
		"white space alone is no message":         {user(" \n "), ""},
		"the system's is not kept":                {ken.Message{Role: "system", Text: "You are a coder."}, ""},
		"nor the developer's":                     {ken.Message{Role: "developer", Text: "Be brief."}, ""},
		"a block is not kept":                     {user(block), ""},
		"a block is cut off a message":            {user(block + "\n\nWhich port?"), "Which port?"},
		"a block as a part of its own":            {ken.Message{Role: "user", Text: block + "\n\n\nWhich port?"}, "Which port?"},
		"the block again and again":               {user(block + "\n\n" + block + "\n\n" + block), ""},
		"a block in a client's summary":           {user("Earlier:\n" + block + "\nThen it went on."), "Earlier:\n\nThen it went on."},
		"a block that a model says after us":      {assistant("I was given:\n" + block), "I was given:"},
		"who mentions the frame is heard":         {user("What is " + guardrail.FrameOpen + "\nin my log?"), "What is [Pipeline Knowledge]\nin my log?"},
		"a frame that is not closed is text":      {user(guardrail.FrameOpen + "\nis what I see"), "[Pipeline Knowledge]\nis what I see"},
		"what a block stood between is no tag":    {user("<thi\n" + block + "\nnk>x"), "<thi\n\nnk>x"},
		"text in parts alone":                     {ken.Message{Role: "user", Parts: []ken.Part{{Type: "text", Text: "a"}, {Type: "text", Text: "b"}}}, "a\nb"},
		"a message without a role is not a voice": {ken.Message{Text: "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, session.Options{})
			got := strings.Join(texts(b.append(t, "s", c.in)), "|")
			if got != c.want {
				t.Errorf("kept %q, want %q", got, c.want)
			}
			all := b.bytes(t)
			for _, bad := range []string{"<think", "<scratch", token, "The user is wrong", "\u200b", "\x07", "8443.\n[/Pipe"} {
				if strings.Contains(all, bad) {
					t.Errorf("the shelf has %q", bad)
				}
			}
		})
	}
}

// A session of nothing but reasoning, or of the block alone, is known, and empty.
func TestNothingToKeep(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "thinker", assistant("<think>a</think>"), assistant("<think>b</think>"))
	b.append(t, "echo", user(block), user(block), user(block+"\n\n"+block))
	for _, id := range []string{"thinker", "echo"} {
		if !b.end(t, id, session.Closed) {
			t.Errorf("%s was not open", id)
		}
		info := b.info(t, id)
		if info.State != session.Harvested || info.Messages != 0 || info.Outcome == nil || info.Outcome.Note == "" {
			t.Errorf("%s: %+v, want it harvested, with a note", id, info)
		}
		if hasJob(t, b.shelf, &info) {
			t.Errorf("%s has a job", id)
		}
	}
}

func TestArgumentsAreCleaned(t *testing.T) {
	token := "ghp_" + random36
	escaped := strings.ReplaceAll(token, "_", `\u005f`)
	for name, c := range map[string]struct{ in, want string }{
		"what is clean stays as it was written": {`{ "b": 1.50, "a": [ true, null ] }`, `{ "b": 1.50, "a": [ true, null ] }`},
		"a secret in a value":                   {`{"cmd":"curl -H 'X: ` + token + `'"}`, `{"cmd":"curl -H 'X: [redacted:github-token]'"}`},
		"a secret behind an escape":             {`{"cmd":"` + escaped + `"}`, `{"cmd":"[redacted:github-token]"}`},
		"a secret as a name":                    {`{"` + token + `":1}`, `{"[redacted:github-token]":1}`},
		"a secret known by its name":            {`{"password":"zK8#qLw92!mVx"}`, `{"password":"[redacted:password]"}`},
		"reasoning in a value":                  {`{"content":"a<think>b</think>c"}`, `{"content":"ac"}`},
		"reasoning behind escapes":              {`{"content":"a\u003cthink\u003eb\u003c/think\u003ec"}`, `{"content":"ac"}`},
		"an invisible character behind one":     {`{"path":"a\u200bb"}`, `{"path":"ab"}`},
		"a name that is there twice":            {`{"a":"<think>x</think>","a":"y"}`, `{"a":"y"}`},
		"markup is no reason to escape":         {`{"a":"<b>&\u200b</b>"}`, `{"a":"<b>&</b>"}`},
		"large numbers keep their digits":       {`{"n":12345678901234567890,"a":"\u200b"}`, `{"a":"","n":12345678901234567890}`},
		"no JSON":                               {`rm -rf ` + token, `rm -rf [redacted:github-token]`},
		"JSON that is cut off":                  {`{"cmd":"` + token, `{"cmd":"[redacted:github-token]`},
		"nothing":                               {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, session.Options{})
			got := b.append(t, "s", calls("call_1", "bash", c.in))
			if len(got) != 1 || got[0].Message.ToolCalls[0].Arguments != c.want {
				t.Fatalf("kept %+v, want arguments %s", got, c.want)
			}
			if all := b.bytes(t); strings.Contains(all, token) || strings.Contains(all, "think") || strings.Contains(all, "\u200b") {
				t.Errorf("the shelf has %s", all)
			}
		})
	}
}

// What a model says to a tool that only lets it think is reasoning, and so is a message in a role
// of that name.
func TestThinkingToolsAreReasoning(t *testing.T) {
	const thought = `{"thought":"The user is wrong."}`
	for name, want := range map[string]string{
		"think": "", "Think": "", "mcp__think__think": "", "sequentialthinking": "", "mcp__sequential-thinking__sequentialthinking": "",
		"sequential_thinking": "", "rethink": thought, "thinking_cap": thought, "think_tank": thought, "7": thought,
	} {
		b := newBench(t, session.Options{})
		got := b.append(t, "s", calls("call_1", name, thought), ken.Message{Role: "reasoning", Text: "The user is wrong."}, ken.Message{Role: "thinking", Text: "The user is wrong."})
		if len(got) != 1 || got[0].Message.ToolCalls[0].Name != name || got[0].Message.ToolCalls[0].Arguments != want {
			t.Errorf("%s: kept %+v", name, got)
		}
		if all := b.bytes(t); want == "" && strings.Contains(all, "wrong") {
			t.Errorf("%s: the shelf has %s", name, all)
		}
	}
}

func TestOthersFieldsAreCleaned(t *testing.T) {
	b := newBench(t, session.Options{})
	token := "ghp_" + random36
	dirty := ken.Message{Role: "user", Name: "a\u200b" + token, Text: "x",
		Parts: []ken.Part{{Type: "text", Text: "x"}, {Type: "image_url", Ref: `{"url":"https://x/?key=` + token + `"}`}}}
	about := session.About{ID: "s", Project: token, Agent: token, Model: "m\x00", Scope: ken.Scope{Type: ken.ScopeRepo, ID: token},
		Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: token}}}
	called := ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: token, Name: token}}}
	if _, err := b.Append(t.Context(), about, []ken.Message{dirty, called, tool(token, "y")}); err != nil {
		t.Fatal(err)
	}
	if err := b.Injected(t.Context(), "s", []ken.Item{{ID: token, Text: "key " + token}, {ID: "k2", Text: "<think>x</think>"}}); err != nil {
		t.Fatal(err)
	}
	b.step(t, "s", token, "\x00", "<think>x")
	if err := b.Harvested(t.Context(), "s", 3, session.Outcome{Note: token, Model: token}); err != nil {
		t.Fatal(err)
	}
	if all := b.bytes(t); strings.Contains(all, token) || strings.Contains(all, "think") || strings.Contains(all, "\\u0000") {
		t.Errorf("the shelf has %s", all)
	}
	if got := b.read(t, "s"); len(got.Entries) != 3 || len(got.Entries[0].Message.Parts) != 1 || len(got.Injected) != 1 {
		t.Errorf("read %+v", got)
	}
}

// A part that is not text tells two messages apart only when there is nothing else,
// and is kept as a hash.
func TestPictures(t *testing.T) {
	picture := func(text, ref string) ken.Message {
		return ken.Message{Role: "user", Text: text, Parts: []ken.Part{{Type: "image_url", Ref: ref}}}
	}
	b := newBench(t, session.Options{})
	b.append(t, "s", picture("", "one"), picture("", "two"), picture("what is this?", "three"))
	got := b.append(t, "s", picture("", "one"), picture("", "two"), user("what is this?"), user("a cat"))
	if diff := cmp.Diff([]string{"a cat"}, texts(got)); diff != "" {
		t.Errorf("kept when pictures were left out (-want +got):\n%s", diff)
	}
}

func TestLongMessagesLoseTheirMiddle(t *testing.T) {
	const limit = 1000
	b := newBench(t, session.Options{MaxMessageBytes: limit})
	long := "BEGIN " + strings.Repeat("日本語のテキスト ", 400) + " END"
	var args struct{ Path, Content string }
	args.Path, args.Content = "a.txt", "FIRST "+strings.Repeat("x\n", 5000)+" LAST"
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	got := b.append(t, "s", user(long), user("short"), calls("1", "write", string(raw)), calls("2", "write", "not JSON "+strings.Repeat("y", 5000)))
	text := got[0].Message.Text
	head, rest, _ := strings.Cut(text, "\n[… ")
	_, tail, _ := strings.Cut(rest, " bytes left out …]\n")
	if !strings.HasPrefix(long, head) || !strings.HasSuffix(long, tail) || len(head)+len(tail)+got[0].Cut != len(long) {
		t.Errorf("kept %d + %d bytes and %d cut, of %d", len(head), len(tail), got[0].Cut, len(long))
	}
	if len(text) > limit || len(head) < limit/3 || len(tail) < limit/3 || !utf8.ValidString(text) {
		t.Errorf("%d bytes, %d at the head, %d at the end, of at most %d", len(text), len(head), len(tail), limit)
	}
	if got[1].Cut != 0 || got[1].Message.Text != "short" {
		t.Errorf("a short message was cut: %+v", got[1])
	}
	kept := got[2].Message.ToolCalls[0].Arguments
	args.Path, args.Content = "", ""
	if err := json.Unmarshal([]byte(kept), &args); err != nil {
		t.Fatalf("arguments are no JSON any more: %v", err)
	}
	if len(kept) > limit || args.Path != "a.txt" || !strings.HasPrefix(args.Content, "FIRST") || !strings.HasSuffix(args.Content, "LAST") {
		t.Errorf("arguments of %d bytes: %s", len(kept), kept)
	}
	if kept := got[3].Message.ToolCalls[0].Arguments; len(kept) > limit {
		t.Errorf("text arguments of %d bytes", len(kept))
	}
	// Two texts that are cut to the same are two messages, and known ones.
	other := strings.Replace(long, "BEGIN "+strings.Repeat("日本語のテキスト ", 200), "BEGIN "+strings.Repeat("日本語のテキスト ", 199)+"日本話のテキスト ", 1)
	if got := b.append(t, "s", user(long), user(other)); len(got) != 1 {
		t.Errorf("kept %d, want the one that differs in the middle", len(got))
	}
}
