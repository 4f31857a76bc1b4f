package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares what was made of a file with the file beside it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	path += ".want"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func recorded(t testing.TB, pattern string, fn func(d wire.Dialect, path string, body []byte)) {
	t.Helper()
	n := 0
	for _, d := range dialects {
		paths, err := filepath.Glob(filepath.Join("testdata", d.String(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			n++
			fn(d, path, body)
		}
	}
	if n == 0 {
		t.Fatal("nothing was recorded as " + pattern)
	}
}

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Ollama}

// What official clients and agents send, and what of it the layer reads.
func TestRecordedRequests(t *testing.T) {
	recorded(t, "*.request.json", func(d wire.Dialect, path string, body []byte) {
		t.Run(path, func(t *testing.T) {
			r, err := wire.Parse(d, body)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, path, show(&r))
			for _, merge := range []bool{false, true} {
				for i, m := range r.Messages {
					if m.Role == "user" {
						checkSplice(t, d, body, &r, i, "[Pipeline Knowledge]\n<a> & \"b\"", merge)
					}
				}
			}
		})
	})
}

func TestRecordedAnswers(t *testing.T) {
	recorded(t, "*.answer.*", func(d wire.Dialect, path string, body []byte) {
		if strings.HasSuffix(path, ".want") {
			return
		}
		t.Run(path, func(t *testing.T) {
			a, ok := wire.ParseAnswer(d, body)
			golden(t, path, fmt.Sprintf("ok=%v id=%q model=%q finish=%q err=%q\nusage: %+v\n%s",
				ok, a.ID, a.Model, a.Finish, a.Err, a.Usage, showMessage(&a.Message)))
			if id := wire.AnswerID(body[:min(len(body), 400)]); id != a.ID {
				t.Errorf("its beginning says %q", id)
			}
			// The same with a server's line ends, and with a client that stops reading
			// anywhere: never more than the whole answer.
			if !strings.HasSuffix(path, ".json") {
				if b, ok2 := wire.ParseAnswer(d, bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))); ok2 != ok || !cmp.Equal(a, b) {
					t.Error("line ends make a difference")
				}
				for n := range body {
					if b, _ := wire.ParseAnswer(d, body[:n]); !strings.HasPrefix(a.Message.Text, b.Message.Text) {
						t.Fatalf("of %d bytes: %q", n, b.Message.Text)
					}
				}
			}
		})
	})
}

// show prints the fields that were read from a request, one per line.
func show(r *wire.Request) string {
	var b strings.Builder
	h, _ := json.Marshal(r.Hints)
	fmt.Fprintf(&b, "%s model=%q stream=%v tools=%d previous=%q unstored=%v instructed=%v\nhints: %s\n", r.Dialect, r.Model, r.Stream, r.Tools,
		r.Previous, r.Unstored, r.Instructed, h)
	for i := range r.Messages {
		b.WriteString(showMessage(&r.Messages[i]))
	}
	return b.String()
}

func showMessage(m *ken.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %q", m.Role, m.Text)
	if m.Name != "" || m.ToolCallID != "" {
		fmt.Fprintf(&b, " name=%q call=%q", m.Name, m.ToolCallID)
	}
	b.WriteByte('\n')
	for _, p := range m.Parts {
		fmt.Fprintf(&b, "\tpart %s %q %.20s\n", p.Type, p.Text, p.Ref)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "\tcall %s %s %s\n", c.ID, c.Name, c.Arguments)
	}
	return b.String()
}

// checkSplice checks a body with a block inserted. Without the insertion, the
// body is the same byte for byte. The result is JSON. Its messages are those of
// the body and the block.
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

// checkMessages compares the messages of a body with and without a block. The
// block may be a separate message, the beginning of a text, or a part.
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
