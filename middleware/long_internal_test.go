package middleware

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

func TestWithoutMiddle(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("a", 100), strings.Repeat("é", 50)} {
		if got, cut := withoutMiddle(s, 100); got != s || cut {
			t.Errorf("%q became %q", s, got)
		}
	}
	for _, long := range []string{strings.Repeat("a", 101), strings.Repeat("é", 51), strings.Repeat("€", 1000), strings.Repeat("😀a", 1000)} {
		got, cut := withoutMiddle(long, 100)
		head, tail, ok := strings.Cut(got, "\n\n")
		if !cut || !ok || len(got) > 100 || len(got) < 90 || !utf8.ValidString(got) || !strings.HasPrefix(long, head) || !strings.HasSuffix(long, tail) {
			t.Errorf("%d bytes became %q", len(long), got)
		}
	}
}

// What is asked at the beginning or the end of a very long message is found; the stages
// don't read what is between.
func TestStagesReadTheEndsOfALongMessage(t *testing.T) {
	filler := strings.Repeat("filling words ", 1<<20/14)
	st := &State{Turn: ken.Turn{Messages: []ken.Message{{Role: "user", Text: "FIRST " + filler + "MIDDLE " + filler + "LAST"}}}}
	if err := (&Layer{}).guard(context.Background(), st); err != nil {
		t.Fatal(err)
	}
	got := st.Read[0].Text
	if len(got) > maxReadText || !strings.HasPrefix(got, "FIRST ") || !strings.HasSuffix(got, "LAST") || strings.Contains(got, "MIDDLE") {
		t.Errorf("%d bytes are read: %.20q … %q", len(got), got, got[len(got)-20:])
	}
	if len(st.Turn.Messages[0].Text) < 2<<20 {
		t.Error("the turn itself was shortened")
	}
}

// What waits for the journal holds no more of a very long message than is kept of it,
// and says the same each time.
func TestKeptMessagesAreShort(t *testing.T) {
	long := ken.Message{Role: "user", Text: strings.Repeat("words ", 5<<20/6), Parts: []ken.Part{{Type: "text", Text: strings.Repeat("words ", 5<<20/6)}, {Type: "image_url", Ref: "x"}}}
	short := ken.Message{Role: "assistant", Text: "yes", Parts: []ken.Part{{Type: "text", Text: "yes"}}, ToolCalls: []ken.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}
	got, again := kept([]ken.Message{long, short}), kept([]ken.Message{long, short})
	if n := len(got[0].Text); n > maxKeptText || n < maxKeptText-8 || got[0].Text != again[0].Text || len(got[0].Parts) != 1 || got[0].Parts[0].Ref != "x" {
		t.Errorf("%d bytes, %+v", n, got[0].Parts)
	}
	if m := got[1]; m.Text != "yes" || len(m.Parts) != 1 || m.ToolCalls[0] != short.ToolCalls[0] {
		t.Errorf("%+v", m)
	}
	if len(long.Parts) != 2 || len(long.Text) < 4<<20 {
		t.Error("the caller's message was changed")
	}
}
