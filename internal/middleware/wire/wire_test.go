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
