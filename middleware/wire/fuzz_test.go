package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware/wire"
)

// FuzzSplice holds for every body and block: what was inserted is one piece, so
// that cutting it out gives the body back; the result is JSON; and its messages
// are those of the body and the block.
func FuzzSplice(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`,
		` { "messages" : [ { "content" : [ { "type" : "text" } ] } , { "content" : null } ] } `,
		`{"messages":[{"role":"a","content":""},{"content":[]},{"content":[{"type":"image_url"},"x"]},{"tool_calls":[{"function":{}}]}]}`,
		`{"messages":[{}],"messages":[{"content":"\ud83d\ude00\u0000","content":[1]}],"seed":1e999,"stop":"END"}`,
		`{"m\u0065ssages":[{"r\u006fle":"user","content":{"a":[{"b":null}]}}]}`,
		`{"messages":[]}`, `[]`, ``, `{"messages":[[]]}`, `{"messages":[{"content":"`,
	} {
		f.Add(body, "[Pipeline Knowledge]\n<a> & \"b\" \\ \u2028 \xff", uint8(0), false)
		f.Add(body, "", uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, in, block string, at uint8, merge bool) {
		body := []byte(in)
		r, err := wire.Parse(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatal("parsed what is not JSON")
		}
		if len(r.Messages) == 0 {
			return
		}
		i := int(at) % len(r.Messages)
		out, err := wire.Splice(body, r, []wire.Insertion{{Before: i, Text: block, Merge: merge}})
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		n := 0 // the beginning that both share; the rest of body must be the end of out
		for n < len(body) && body[n] == out[n] {
			n++
		}
		if !bytes.HasSuffix(out, body[n:]) {
			t.Fatalf("more than one piece was changed:\n%s\n%s", body, out)
		}
		got, err := wire.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected(r.Messages, got.Messages, i, encoded(t, block)), got.Messages); diff != "" {
			t.Fatal(diff)
		}
	})
}

// expected is what the messages become; got tells a string from an array.
func expected(msgs []ken.Message, got []ken.Message, i int, block string) []ken.Message {
	if len(got) > len(msgs) {
		return slices.Insert(slices.Clone(msgs), i, ken.Message{Role: "user", Text: block})
	}
	out := slices.Clone(msgs)
	m := &out[i]
	block += "\n\n"
	if got[i].Parts == nil {
		m.Text = block + m.Text
		return out
	}
	m.Parts = slices.Insert(slices.Clone(m.Parts), 0, ken.Part{Type: "text", Text: block})
	var texts []string
	for _, p := range m.Parts {
		if p.Ref == "" {
			texts = append(texts, p.Text)
		}
	}
	m.Text = strings.Join(texts, "\n")
	return out
}

// encoded is what JSON makes of a text that may not be UTF-8.
func encoded(t *testing.T, s string) (out string) {
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
