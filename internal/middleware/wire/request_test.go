package wire_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

func TestParseContentShapes(t *testing.T) {
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	const number = `12345678901234567890123`
	digest := func(raw string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(raw))) }
	for _, tt := range []struct {
		name, message string
		want          ken.Message
	}{
		{"string", `{"role":"user","content":"hi"}`, ken.Message{Role: "user", Text: "hi"}},
		{"empty string", `{"role":"user","content":""}`, ken.Message{Role: "user"}},
		{"escapes", `{"role":"user","content":"a\"\\\n\u00e9\ud83d\ude00"}`, ken.Message{Role: "user", Text: "a\"\\\né😀"}},
		{"escaped key", `{"r\u006fle":"user","content":"hi"}`, ken.Message{Role: "user", Text: "hi"}},
		{"null", `{"role":"user","content":null}`, ken.Message{Role: "user"}},
		{"none", `{"role":"user"}`, ken.Message{Role: "user"}},
		{"empty object", `{}`, ken.Message{}},
		{"last key wins", `{"role":"tool","role":"user","content":"a","content":"b"}`, ken.Message{Role: "user", Text: "b"}},
		{"odd types", `{"role":7,"name":{},"content":` + number + `}`,
			ken.Message{Parts: []ken.Part{{Ref: digest(number)}}}},
		{"name", `{"role":"user","name":"ada","content":"hi"}`, ken.Message{Role: "user", Name: "ada", Text: "hi"}},
		{"parts", `{"role":"user","content":[{"type":"text","text":"a"},` + image + `,{"type":"text","text":"b","cache_control":{}},"c"]}`,
			ken.Message{Role: "user", Text: "a\nb\nc", Parts: []ken.Part{
				{Type: "text", Text: "a"}, {Type: "image_url", Ref: digest(image)}, {Type: "text", Text: "b"}, {Type: "text", Text: "c"}}}},
		{"no parts", `{"role":"user","content":[]}`, ken.Message{Role: "user"}},
		{"tool calls", `{"role":"assistant","content":null,"tool_calls":[
			{"id":"1","type":"function","function":{"name":"read","arguments":"{\"p\":1}"}},
			{"id":"2","type":"custom","custom":{"name":"patch","input":"*** Begin"}},
			{"id":"3","function":{"name":"odd","arguments":{"p": 1}}}]}`,
			ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{
				{ID: "1", Name: "read", Arguments: `{"p":1}`}, {ID: "2", Name: "patch", Arguments: "*** Begin"},
				{ID: "3", Name: "odd", Arguments: `{"p": 1}`}}}},
		{"function call", `{"role":"assistant","function_call":{"name":"read","arguments":"{}"}}`,
			ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "read", Arguments: "{}"}}}},
		{"tool result", `{"role":"tool","tool_call_id":"1","content":"done"}`,
			ken.Message{Role: "tool", ToolCallID: "1", Text: "done"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := wire.Parse(wire.Chat, []byte(`{"messages":[`+tt.message+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]ken.Message{tt.want}, r.Messages); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRequest(t *testing.T) {
	r, err := wire.Parse(wire.Chat, []byte(" \n{\"seed\":123456789012345678901234567890,\"stop\":\"END\",\"messages\":[\"lost\"],\"model\":\"m\","+
		`"stream":true,"tools":[{},{}],"functions":[{}],"messages" : [ {"role":"user"} , {} ] } `))
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "m" || !r.Stream || r.Tools != 3 || len(r.Messages) != 2 || r.Messages[0].Role != "user" {
		t.Errorf("got %+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, body, field string }{
		{"nothing", "", "body"},
		{"text", "hello", "body"},
		{"cut short", `{"messages":[{"role":"user","content":"hi"}]`, "body"},
		{"two values", `{"messages":[]} {}`, "body"},
		{"array", `[]`, "body"},
		{"no messages", `{"model":"m","prompt":"hi"}`, "messages"},
		{"messages of another type", `{"messages":"hi"}`, "messages"},
		{"message of another type", `{"messages":[{},"hi"]}`, "messages[1]"},
		{"byte order mark", "\ufeff" + `{"messages":[]}`, "body"},
		// A reader that calls itself ends the process here.
		{"brackets without end", strings.Repeat("[", 32<<20), "body"},
		{"braces without end", strings.Repeat(`{"a":`, 4<<20), "body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wire.Parse(wire.Chat, []byte(tt.body))
			var e *ken.Error
			if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != tt.field {
				t.Errorf("got %v, want field %s", err, tt.field)
			}
		})
	}
}

// Brackets in a prompt are not nesting.
func TestParseBracketsInText(t *testing.T) {
	text := strings.Repeat(`[{\"`, 20000)
	if _, err := wire.Parse(wire.Chat, []byte(`{"messages":[{"role":"user","content":"`+text+`"}]}`)); err != nil {
		t.Error(err)
	}
}

func TestSplice(t *testing.T) {
	const odd = `{ "temperature" : 0,"stop":"END","seed":12345678901234567890, "messages" :[ `
	for _, tt := range []struct {
		name, body string
		ins        []wire.Insertion
		want       string
	}{
		{"nothing", odd + `{}]}`, nil, odd + `{}]}`},
		{"message", odd + `{"role":"user","content":"q"} ]}`, []wire.Insertion{{Text: "k"}},
			odd + `{"role":"user","content":"k"},{"role":"user","content":"q"} ]}`},
		{"several", `{"messages":[{"a":1},{"b":2}]}`, []wire.Insertion{{Before: 0, Text: "x"}, {Before: 1, Text: "y"}, {Before: 1, Text: "z"}},
			`{"messages":[{"role":"user","content":"x"},{"a":1},{"role":"user","content":"y"},{"role":"user","content":"z"},{"b":2}]}`},
		{"angle brackets and quotes stay", `{"messages":[{}]}`, []wire.Insertion{{Text: "if a<b && c>\"d\" \\ \n\x00"}},
			`{"messages":[{"role":"user","content":"if a<b && c>\"d\" \\ \n\u0000"},{}]}`},
		{"broken text", `{"messages":[{}]}`, []wire.Insertion{{Text: "\xff\u2028é"}},
			`{"messages":[{"role":"user","content":"\ufffd\u2028é"},{}]}`},
		{"merge into text", `{"messages":[{"content": "q<\u003c","role":"user"}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"content": "k\n\nq<\u003c","role":"user"}]}`},
		{"merge into empty text", `{"messages":[{"content":""}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"content":"k\n\n"}]}`},
		{"merge into parts", `{"messages":[{"content":[ {"type":"image_url"}]}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"content":[{"type":"text","text":"k\n\n"}, {"type":"image_url"}]}]}`},
		{"merge into no parts", `{"messages":[{"content":[ ]}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"content":[{"type":"text","text":"k\n\n"} ]}]}`},
		{"merge into null", `{"messages":[{"content":null}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"role":"user","content":"k"},{"content":null}]}`},
		{"merge into the content that counts", `{"messages":[{"content":"a","content":"b"}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"messages":[{"content":"a","content":"k\n\nb"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			r, err := wire.Parse(wire.Chat, body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := wire.Splice(body, r, tt.ins)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(got) {
				t.Error("not valid JSON")
			}
			if string(body) != tt.body {
				t.Error("the body was changed")
			}
		})
	}
}

func TestSpliceRefuses(t *testing.T) {
	body := []byte(`{"messages":[{"content":"a"},{"content":"b"}]}`)
	r, err := wire.Parse(wire.Chat, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, ins := range map[string][]wire.Insertion{
		"negative":                   {{Before: -1}},
		"too far":                    {{Before: 2}},
		"out of order":               {{Before: 1}, {Before: 0}},
		"before what it merged into": {{Before: 1, Merge: true}, {Before: 1}},
	} {
		if got, err := wire.Splice(body, r, ins); !errors.Is(err, ken.ErrInvalid) || got != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func ExampleSplice() {
	body := []byte(`{"model":"m","temperature":0,"messages":[{"role":"user","content":"which region?"}]}`)
	r, err := wire.Parse(wire.Chat, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err = wire.Splice(body, r, []wire.Insertion{{Before: 0, Text: "The region is us-east-1."}})
	fmt.Println(string(body), err)
	// Output:
	// {"model":"m","temperature":0,"messages":[{"role":"user","content":"The region is us-east-1."},{"role":"user","content":"which region?"}]} <nil>
}

// How long an answer may be, and whether it is to be JSON, is written differently in each API.
func TestWhatTheAnswerIsToBe(t *testing.T) {
	for _, tt := range []struct {
		dialect wire.Dialect
		fields  string
		tokens  int
		json    bool
	}{
		{wire.Chat, ``, 0, false},
		{wire.Chat, `"max_tokens":1,"response_format":{"type":"text"},`, 1, false},
		{wire.Chat, `"max_completion_tokens":20,"response_format":{"type":"json_object"},`, 20, true},
		{wire.Chat, `"max_tokens":"many","response_format":"json",`, 0, false},
		{wire.Chat, `"max_tokens":-3,"response_format":{"type":"json_schema","json_schema":{"name":"a"}},`, 0, true},
		{wire.Responses, `"max_output_tokens":30,"text":{"format":{"type":"json_schema"}},`, 30, true},
		{wire.Responses, `"text":{"format":{"type":"text"}},`, 0, false},
		{wire.Messages, `"max_tokens":40,"output_config":{"effort":"high","format":{"type":"json_schema"}},`, 40, true},
		{wire.Messages, `"output_config":{"effort":"high"},`, 0, false},
	} {
		r := parsed(t, tt.dialect, `{`+tt.fields+`"input":"Hi.","messages":[{"role":"user","content":"Hi."}]}`)
		if r.MaxTokens != tt.tokens || r.JSON != tt.json {
			t.Errorf("%s %s: %d, %v", tt.dialect, tt.fields, r.MaxTokens, r.JSON)
		}
	}
}

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

// spliced is one insertion and the body that it makes.
type spliced struct {
	name, body string
	ins        []wire.Insertion
	want       string
}

func (tt spliced) run(t *testing.T, d wire.Dialect) {
	t.Run(tt.name, func(t *testing.T) {
		r := parsed(t, d, tt.body)
		got, err := wire.Splice([]byte(tt.body), *r, tt.ins)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Error(diff)
		}
		if !json.Valid(got) {
			t.Error("not valid JSON")
		}
	})
}

func TestSpliceResponses(t *testing.T) {
	for _, tt := range []spliced{
		{"a string becomes an array", `{"input" : "q\u003c" ,"store":true}`, []wire.Insertion{{Text: "k"}},
			`{"input" : [{"role":"user","content":"k"},{"role":"user","content":"q\u003c"}] ,"store":true}`},
		{"once for several", `{"input":"q"}`, []wire.Insertion{{Text: "x"}, {Text: "y"}},
			`{"input":[{"role":"user","content":"x"},{"role":"user","content":"y"},{"role":"user","content":"q"}]}`},
		{"merged, it stays a string", `{"input":"q"}`, []wire.Insertion{{Text: "k", Merge: true}}, `{"input":"k\n\nq"}`},
		{"both", `{"input":"q"}`, []wire.Insertion{{Text: "x"}, {Text: "y", Merge: true}},
			`{"input":[{"role":"user","content":"x"},{"role":"user","content":"y\n\nq"}]}`},
		{"the string that counts", `{"input":[7],"input":""}`, []wire.Insertion{{Text: "k"}},
			`{"input":[7],"input":[{"role":"user","content":"k"},{"role":"user","content":""}]}`},
		{"behind instructions", `{"instructions":"i","input":"q"}`, []wire.Insertion{{Before: 1, Text: "k"}},
			`{"instructions":"i","input":[{"role":"user","content":"k"},{"role":"user","content":"q"}]}`},
		{"an item", `{"input":[{"type":"reasoning"}, {"role":"user","content":"q"}]}`, []wire.Insertion{{Text: "k"}},
			`{"input":[{"type":"reasoning"}, {"role":"user","content":"k"},{"role":"user","content":"q"}]}`},
		{"into parts", `{"input":[{"role":"user","content":[ {"type":"input_image"}]}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"k\n\n"}, {"type":"input_image"}]}]}`},
		{"into no parts", `{"input":[{"role":"user","content":[]}]}`, []wire.Insertion{{Text: "k", Merge: true}},
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"k\n\n"}]}]}`},
	} {
		tt.run(t, wire.Responses)
	}
}

// Only a user's message has a place: nothing may come between a call and its
// output, or between reasoning and what it led to.
func TestSpliceRefusesOtherItems(t *testing.T) {
	body := `{"instructions":"i","input":[{"type":"function_call","call_id":"1"},{"type":"function_call_output","call_id":"1","output":"x"},{"role":"developer","content":"d"}]}`
	r := parsed(t, wire.Responses, body)
	if len(r.Messages) != 4 {
		t.Fatalf("%+v", r.Messages)
	}
	for i := range r.Messages {
		if _, err := wire.Splice([]byte(body), *r, []wire.Insertion{{Before: i, Text: "k"}}); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("message %d: %v", i, err)
		}
	}
}

// Everything that a model did in one answer is one message, the same as when the
// answer was read, so that a journal does not have it twice.
func TestAnAnswerThatComesBackIsTheSame(t *testing.T) {
	for d, tt := range map[wire.Dialect]struct{ answer, request string }{
		wire.Responses: {`{"id":"r","output":%s}`, `{"input":%s}`},
		wire.Messages:  {`{"id":"r","type":"message","content":%s}`, `{"messages":[{"role":"assistant","content":%s}]}`},
		wire.Chat:      {`{"choices":[{"message":%s}]}`, `{"messages":[%s]}`},
	} {
		said := map[wire.Dialect]string{
			wire.Responses: `[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]},` +
				`{"type":"function_call","call_id":"1","name":"n","arguments":"{}"},{"type":"function_call","call_id":"2","name":"n","arguments":"{}"},{"type":"web_search_call","id":"3","action":{}}]`,
			wire.Messages: `[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"text","text":"b"}]`,
			wire.Chat:     `{"role":"assistant","content":"a","reasoning_content":"t","tool_calls":[{"id":"1","function":{"name":"n","arguments":"{}"}}]}`,
		}[d]
		a, ok := wire.ParseAnswer(d, fmt.Appendf(nil, tt.answer, said))
		r := parsed(t, d, fmt.Sprintf(tt.request, said))
		if diff := cmp.Diff([]ken.Message{a.Message}, r.Messages); diff != "" || !ok {
			t.Errorf("%s: %v %s", d, ok, diff)
		}
	}
}

func TestParseRefusesOtherDialects(t *testing.T) {
	for _, tt := range []struct {
		d           wire.Dialect
		body, field string
	}{
		{wire.Responses, `{"messages":[]}`, "input"},
		{wire.Responses, `{"input":{}}`, "input"},
		{wire.Responses, `{"input":null,"prompt":{"id":"p"}}`, "input"},
		{wire.Responses, `{"input":[{},"x"]}`, "input[1]"},
		{wire.Responses, `{"input":"x"`, "body"},
		{wire.Messages, `{"input":"x"}`, "messages"},
		{wire.Messages, `{"role":"user","content":"of a thread"}`, "messages"},
		{wire.Messages, `{"messages":[{},[]]}`, "messages[1]"},
		{wire.Messages, `"x"`, "body"},
	} {
		_, err := wire.Parse(tt.d, []byte(tt.body))
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != tt.field || e.Try == "" {
			t.Errorf("%s %s: got %v, want field %s", tt.d, tt.body, err, tt.field)
		}
	}
}

func ExampleParse_responses() {
	r, err := wire.Parse(wire.Responses, []byte(`{"model":"m","instructions":"Be brief.","input":"Which region?","previous_response_id":"resp_1"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Dialect, r.Previous)
	for _, m := range r.Messages {
		fmt.Println(m.Role+":", m.Text)
	}
	// Output:
	// responses resp_1
	// system: Be brief.
	// user: Which region?
}

func TestDialectOf(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions":                   "chat",
		"/openai/deployments/d/chat/completions": "chat",
		"/v1/responses":                          "responses",
		"/v1/messages":                           "messages",
		"/v1/chat/completions/cmpl-1":            "",
		"/v1/responses/resp_1":                   "",
		"/v1/responses/resp_1/cancel":            "",
		"/v1/responses/compact":                  "",
		"/v1/messages/count_tokens":              "",
		"/v1/messages/batches":                   "",
		"/v1/threads/thread_1/messages":          "",
		"/v1/chat/completions/":                  "chat",
		"/v1/messages//":                         "messages",
		"/api/chat":                              "ollama",
		"/api/chat/":                             "ollama",
		"/api/chats":                             "",
		"/api/generate":                          "",
		"/v1/embeddings":                         "",
		"":                                       "",
		"chat/completions":                       "",
		"/v1/nochat/completions":                 "",
		"/v1/messagesx":                          "",
		"/v1/x/chat/completions/../../threads/t/x/messages": "",
	} {
		d, ok := wire.DialectOf(path)
		if got := d.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v", path, got, ok)
		}
	}
}
