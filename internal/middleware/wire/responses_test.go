package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

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

// What a model did in one go is one message, as it was when it was heard, so that
// a journal does not have it twice.
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
		a, ok := wire.ParseAnswer(d, []byte(fmt.Sprintf(tt.answer, said)))
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
