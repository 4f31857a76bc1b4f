package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// checkSplice holds for every body and block: without what was inserted, the body
// is there byte for byte; the result is JSON; and its messages are those of the
// body and the block.
func checkSplice(t *testing.T, d wire.Dialect, body []byte, r *wire.Request, i int, block string, merge bool) {
	t.Helper()
	before := bytes.Clone(body)
	out, err := wire.Splice(body, *r, []wire.Insertion{{Before: i, Text: block, Merge: merge}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, before) {
		t.Fatal("the body was changed")
	}
	if !json.Valid(out) {
		t.Fatalf("not JSON: %s", out)
	}
	if !inPieces(body, out) {
		t.Fatalf("not only additions:\n%s\n%s", body, out)
	}
	got, err := wire.Parse(d, out)
	if err != nil {
		t.Fatal(err)
	}
	checkMessages(t, r.Messages, got.Messages, i, encoded(t, block), merge)
	got.Messages = r.Messages
	if a, b := show(r), show(&got); a != b {
		t.Fatalf("other fields changed: %s", cmp.Diff(a, b))
	}
}

// inPieces reports that body is in out: its beginning, its end, and what is between
// them in one piece.
func inPieces(body, out []byte) bool {
	if len(out) < len(body) {
		return false
	}
	n := 0
	for n < len(body) && body[n] == out[n] {
		n++
	}
	m := 0
	for m < len(body)-n && body[len(body)-1-m] == out[len(out)-1-m] {
		m++
	}
	return bytes.Contains(out[n:len(out)-m], body[n:len(body)-m])
}

// checkMessages compares the messages of a body with those that it has with a
// block: as a message of its own, at the head of a text, or as a part.
func checkMessages(t *testing.T, msgs, got []ken.Message, i int, block string, merge bool) {
	t.Helper()
	if len(got) > len(msgs) {
		want := slices.Insert(slices.Clone(msgs), i, ken.Message{Role: "user", Text: block})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		return
	}
	if merge {
		block += "\n\n"
	}
	want := slices.Clone(msgs)
	m := &want[i]
	switch {
	case got[i].Parts == nil:
		m.Text = block + m.Text
	case len(got[i].Parts) == len(m.Parts): // Ollama's: a string, with images beside it
		m.Text = block + m.Text
		m.Parts = slices.Clone(m.Parts)
		m.Parts[0].Text = m.Text
	default:
		at := slices.IndexFunc(got[i].Parts, func(p ken.Part) bool { return p == ken.Part{Type: "text", Text: block} })
		if at < 0 {
			t.Fatalf("no block in %+v", got[i])
		}
		m.Parts = slices.Insert(slices.Clone(m.Parts), min(at, len(m.Parts)), ken.Part{Type: "text", Text: block})
		m.Text = ""
		var texts []string
		for _, p := range m.Parts {
			if p.Ref == "" {
				texts = append(texts, p.Text)
			}
		}
		m.Text = strings.Join(texts, "\n")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
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
