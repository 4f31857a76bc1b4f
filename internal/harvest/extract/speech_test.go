package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func entries(messages ...ken.Message) *session.Transcript {
	tr := &session.Transcript{}
	for i, m := range messages {
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), Message: m})
	}
	return tr
}

func TestSpeeches(t *testing.T) {
	type heard struct {
		Name, Text string
		Person     bool
	}
	for _, tt := range []struct {
		name     string
		messages []ken.Message
		want     []heard
	}{
		{"user and assistant", []ken.Message{{Role: "system", Text: "x"}, {Role: "user", Text: "a"}, {Role: "assistant", Text: "b"}, {Role: "tool", Text: "c"}},
			[]heard{{"", "a", true}, {"", "b", false}}},
		{"two people", []ken.Message{{Role: "user", Name: "Ana", Text: "a"}, {Role: "assistant", Name: "Ben Lee", Text: "b"}},
			[]heard{{"Ana", "a", true}, {"Ben Lee", "b", true}}},
		{"the assistant's name alone", []ken.Message{{Role: "user", Text: "a"}, {Role: "assistant", Name: "Kai", Text: "b"}},
			[]heard{{"", "a", true}, {"", "b", false}}},
		{"tools make it an agent", []ken.Message{{Role: "user", Name: "Ana", Text: "a"}, {Role: "assistant", Name: "Kai", Text: "b"}, {Role: "tool", Text: "c"}},
			[]heard{{"Ana", "a", true}, {"", "b", false}}},
		{"so do calls", []ken.Message{{Role: "user", Name: "Ana", Text: "a"}, {Role: "assistant", Name: "Kai", ToolCalls: []ken.ToolCall{{ID: "1"}}}},
			[]heard{{"Ana", "a", true}, {"", "", false}}},
		{"parts", []ken.Message{{Role: "user", Parts: []ken.Part{{Type: "text", Text: "a"}, {Type: "image_url"}, {Type: "text", Text: "b"}}}},
			[]heard{{"", "a\nb\n", true}}},
		{"labels", []ken.Message{{Role: "user", Text: "User: a"}, {Role: "assistant", Text: "Assistant: b"}, {Role: "user", Text: "Assistant: c"}},
			[]heard{{"", "a", true}, {"", "b", false}, {"", "Assistant: c", true}}},
		{"a name that is none", []ken.Message{{Role: "user", Name: strings.Repeat("n", maxName+1), Text: "a"}, {Role: "user", Name: " Ana \n Lee ", Text: "b"}},
			[]heard{{"", "a", true}, {"Ana Lee", "b", true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []heard
			for _, s := range speeches(entries(tt.messages...)) {
				got = append(got, heard{s.name, s.text, s.person})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCapital(t *testing.T) {
	for in, want := range map[string]string{
		"payments depends on it": "Payments depends on it", "Payments": "Payments", "": "", "iPhone sales": "iPhone sales",
		"ledger_sync runs": "ledger_sync runs", "main.go is long": "main.go is long", "3 boats": "3 boats", "été": "été", "v2 is out": "v2 is out",
		"i": "I",
	} {
		if got := capital(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestIsWeekday(t *testing.T) {
	for name, want := range map[string]bool{"Tuesday": true, "Tuesdays": true, "Fri": true, "May": false, "Lyon": false, "Days": false} {
		if got := isWeekday(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
