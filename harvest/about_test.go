package harvest_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// What a fact is about is what the extraction named; who said it, where it is of them
// or names nothing.
func TestFactsAreAboutTheirSubject(t *testing.T) {
	for name, tt := range map[string]struct {
		text, role, who string
		entities, want  []string
	}{
		"named":               {"Payments requires the ledger.", "user", "", []string{"payments", "ledger"}, []string{"payments", "ledger"}},
		"the user":            {"The user prefers tabs in Go.", "user", "", []string{"Go"}, []string{"user", "Go"}},
		"the user by name":    {"The user prefers tabs in Go.", "user", "Ana", []string{"Go"}, []string{"Ana", "Go"}},
		"known already":       {"The user prefers tabs.", "user", "Ana", []string{"ana"}, []string{"ana"}},
		"nothing is named":    {"It was great.", "user", "", nil, []string{"user"}},
		"an assistant's":      {"The user prefers tabs in Go.", "assistant", "Bob", []string{"Go"}, []string{"Go"}},
		"a nameless one's":    {"It was great.", "assistant", "", nil, nil},
		"a tool's":            {"It was great.", "tool", "bash", nil, nil},
		"a speaker who is of": {"It was great.", "assistant", "Bob", nil, []string{"Bob"}},
	} {
		e := session.Entry{Message: ken.Message{Role: tt.role, Name: tt.who}}
		if got := harvest.About(&draft.Statement{Text: tt.text, Entities: tt.entities}, &e); !slices.Equal(got, tt.want) {
			t.Errorf("%s: about %q, want %q", name, got, tt.want)
		}
	}
}
