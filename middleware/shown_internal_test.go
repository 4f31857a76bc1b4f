package middleware

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestShownIn(t *testing.T) {
	block := "[Pipeline Knowledge]\n" + Reference + " Check it.\n2 found, best first.\n\n[k:0a1b2c3d] Inferred observed fact | 2026-03-14 | a.go\nThe lamp is green.\nIt restarts.\n" +
		"\n[k:4e5f6071] Assumed observed fact external | 2026-03-14\nThe vault has two keys.\n[/Pipeline Knowledge]"
	two := []ken.Item{{ID: "0a1b2c3d", Text: "The lamp is green.\nIt restarts."}, {ID: "4e5f6071", Text: "The vault has two keys."}}
	structured := `{"mode":"hybrid","claims":[{"id":"x1","kind":"fact","text":"The lamp is green."},{"id":"x2"}],"note":"` + Reference + ` And so on."}`
	for _, tt := range []struct {
		name string
		msg  ken.Message
		want []ken.Item
	}{
		{"a block", ken.Message{Role: "tool", Text: block}, two},
		{"with something around it", ken.Message{Role: "tool", Text: "Result:\n" + block + "\n(2 items)"}, two},
		{"in a part", ken.Message{Role: "tool", Parts: []ken.Part{{Type: "text", Text: block}}}, two},
		{"structured", ken.Message{Role: "tool", Text: structured}, []ken.Item{{ID: "x1", Kind: "fact", Text: "The lamp is green."}}},
		{"one claim", ken.Message{Role: "function", Text: `{"claim":{"id":"x","text":"So."},"note":"` + Reference + `"}`}, []ken.Item{{ID: "x", Text: "So."}}},
		{"a turn's block", ken.Message{Role: "user", Text: block}, nil},
		{"another tool", ken.Message{Role: "tool", Text: "[k:0a1b2c3d] x\nThe lamp is green."}, nil},
		{"nothing found", ken.Message{Role: "tool", Text: Reference}, nil},
		{"broken JSON", ken.Message{Role: "tool", Text: structured[:len(structured)-2]}, nil},
		{"empty items", ken.Message{Role: "tool", Text: "[Pipeline Knowledge]\n" + Reference + "\n[k:\n[k:]\n[k:1]"}, nil},
	} {
		if diff := cmp.Diff(tt.want, shownIn([]ken.Message{tt.msg})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	long := make([]ken.Message, 1000)
	long[0] = ken.Message{Role: "tool", Text: block}
	if got := shownIn(long); got != nil {
		t.Errorf("looks at messages of long ago: %v", got)
	}
}

// FuzzShownIn reads what any tool may print.
func FuzzShownIn(f *testing.F) {
	for _, s := range []string{"", "{}", `{"claims":[{"text":1}]}`, "[Pipeline Knowledge]\n\n[k:a] b\nc\n[/Pipeline Knowledge]", "\n[k:", "[k:a]\n\n[k:b]\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, it := range shownInText(s) {
			if strings.TrimSpace(it.Text) == "" {
				t.Fatalf("%q holds an item without text: %+v", s, it)
			}
		}
	})
}
