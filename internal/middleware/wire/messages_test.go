package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

func TestSpliceMessages(t *testing.T) {
	const call = `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}}]},{"role":"user","content":[`
	for _, tt := range []spliced{
		{"a message", `{"messages":[ {"role":"user","content":"q"}],"system":[]}`, []wire.Insertion{{Text: "k"}},
			`{"messages":[ {"role":"user","content":"k"},{"role":"user","content":"q"}],"system":[]}`},
		{"behind the system prompt", `{"system":"s","messages":[{"role":"user","content":"q"}]}`, []wire.Insertion{{Before: 1, Text: "k"}},
			`{"system":"s","messages":[{"role":"user","content":"k"},{"role":"user","content":"q"}]}`},
		{"into text", `{"messages":[{"role":"user","content":"q"}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"role":"user","content":"k\n\nq"}]}`},
		{"into blocks", `{"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"k\n\n"},{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]}`},
		// Results come right after their calls, and first.
		{"behind results", call + `{"type":"tool_result","tool_use_id":"1"} , {"type":"text","text":"q"}]}]}`, []wire.Insertion{{Before: 2, Text: "k"}},
			call + `{"type":"tool_result","tool_use_id":"1"} , {"type":"text","text":"k"},{"type":"text","text":"q"}]}]}`},
		{"behind the last of them", call + `{"type":"text","text":"odd"},{"type":"tool_result"},{"type":"image"},{"type":"tool_result"},{"type":"image"}]}]}`, []wire.Insertion{{Before: 3, Text: "k"}},
			call + `{"type":"text","text":"odd"},{"type":"tool_result"},{"type":"image"},{"type":"tool_result"},{"type":"text","text":"k"},{"type":"image"}]}]}`},
		{"at the end, where text stands before them", call + `{"type":"text","text":"odd"},{"type":"tool_result"} ]}]}`, []wire.Insertion{{Before: 2, Text: "k"}},
			call + `{"type":"text","text":"odd"},{"type":"tool_result"},{"type":"text","text":"k"} ]}]}`},
		{"merged behind results", call + `{"type":"tool_result"},{"type":"text","text":"q"}]}]}`, []wire.Insertion{{Before: 2, Text: "k", Merge: true}},
			call + `{"type":"tool_result"},{"type":"text","text":"k\n\n"},{"type":"text","text":"q"}]}]}`},
	} {
		tt.run(t, wire.Messages)
	}
}

// What tools returned is no user's turn, and neither is what an agent says in the
// user's name.
func TestWhoSpeaksInAUserMessage(t *testing.T) {
	const reminder = `{"type":"text","text":"<system-reminder>\nBe careful.\n</system-reminder>"}`
	user := func(text string, parts ...ken.Part) ken.Message {
		return ken.Message{Role: "user", Text: text, Parts: parts}
	}
	tool := ken.Message{Role: "tool", ToolCallID: "1", Text: "done"}
	const result = `{"type":"tool_result","tool_use_id":"1","content":"done"}`
	for _, tt := range []struct {
		name, content string
		want          []ken.Message
	}{
		{"results alone", `[` + result + `,` + result + `]`, []ken.Message{tool, tool}},
		{"results and a question", `[` + result + `,{"type":"text","text":"q"}]`, []ken.Message{tool, user("q", ken.Part{Type: "text", Text: "q"})}},
		{"a result and a reminder", `[` + result + `,` + reminder + `]`, []ken.Message{tool}},
		{"a reminder and a question", `[` + reminder + `,{"type":"text","text":"q"}]`, []ken.Message{user("q", ken.Part{Type: "text", Text: "q"})}},
		{"a reminder alone", `[` + reminder + `]`, nil},
		{"a reminder as text", `"<system-reminder>x</system-reminder>"`, nil},
		{"a mention of one", `"What is <system-reminder>x</system-reminder>?"`, []ken.Message{user("What is <system-reminder>x</system-reminder>?")}},
		{"thinking alone", `[{"type":"thinking","thinking":"x"}]`, nil},
		{"nothing", `[]`, []ken.Message{user("")}},
		{"null", `null`, []ken.Message{user("")}},
		{"a string", `"q"`, []ken.Message{user("q")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := parsed(t, wire.Messages, `{"messages":[{"role":"user","content":`+tt.content+`}]}`)
			if d := cmp.Diff(tt.want, r.Messages); d != "" {
				t.Error(d)
			}
		})
	}
}

// A provider's cache is marked at the end of a conversation, so marks move with
// every request; what they mark is the same.
func TestCacheMarksChangeNothing(t *testing.T) {
	for _, content := range []string{
		`[{"type":"image","source":{"type":"url","url":"x"}%s}]`,
		`[{"type":"tool_result","tool_use_id":"1","content":"done"%s}]`,
		`[{"type":"text","text":"q"%s}]`,
	} {
		with := func(mark string) []ken.Message {
			r := parsed(t, wire.Messages, `{"messages":[{"role":"user","content":`+strings.Replace(content, "%s", mark, 1)+`}]}`)
			return r.Messages
		}
		if d := cmp.Diff(with(""), with(`,"cache_control":{"type":"ephemeral"}`)); d != "" {
			t.Error(d)
		}
	}
}

// A model's reasoning is in no message of any dialect, and in no answer.
func TestReasoningIsNeverText(t *testing.T) {
	const secret = "SECRETLY"
	for _, tt := range []struct {
		d       wire.Dialect
		request string
		answers []string
	}{
		{wire.Chat, `{"messages":[{"role":"assistant","reasoning":"SECRETLY","reasoning_content":"SECRETLY","reasoning_details":[{"text":"SECRETLY"}],"thinking":"SECRETLY","content":[{"type":"thinking","thinking":[{"type":"text","text":"SECRETLY"}]},{"type":"reasoning","text":"SECRETLY"},{"type":"text","text":"said"}]}]}`,
			[]string{`{"choices":[{"message":{"reasoning_content":"SECRETLY","reasoning":"SECRETLY","content":"said"}}]}`,
				"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"SECRETLY\",\"content\":null}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"SECRETLY\"}]},{\"type\":\"text\",\"text\":\"said\"}]}}]}\n\n"}},
		{wire.Responses, `{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"SECRETLY"}],"content":[{"type":"reasoning_text","text":"SECRETLY"}]},{"role":"assistant","content":[{"type":"reasoning_text","text":"SECRETLY"},{"type":"output_text","text":"said"}]}]}`,
			[]string{`{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"SECRETLY"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"said"}]}]}`,
				"data: {\"type\":\"response.reasoning_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"SECRETLY\"}\n\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"delta\":\"SECRETLY\"}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":\"said\"}\n\n"}},
		{wire.Messages, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"SECRETLY","text":"SECRETLY"},{"type":"redacted_thinking","data":"SECRETLY"},{"type":"text","text":"said"}]}]}`,
			[]string{`{"content":[{"type":"thinking","thinking":"SECRETLY"},{"type":"text","text":"said"}]}`,
				"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"SECRETLY\",\"text\":\"SECRETLY\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"SECRETLY\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"said\"}}\n\n"}},
	} {
		r := parsed(t, tt.d, tt.request)
		if len(r.Messages) != 1 || r.Messages[0].Text != "said" || strings.Contains(show(r), secret) {
			t.Errorf("%s request: %s", tt.d, show(r))
		}
		for _, body := range tt.answers {
			a, _ := wire.ParseAnswer(tt.d, []byte(body))
			if a.Message.Text != "said" || strings.Contains(showMessage(&a.Message), secret) {
				t.Errorf("%s answer: %+v", tt.d, a)
			}
		}
	}
}
