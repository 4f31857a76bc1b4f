package memory

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/foreign"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

func entry(key, source, text string) foreign.Item {
	return foreign.Item{Line: jsonl.Line{Claim: ken.Claim{Key: key, Source: source, Heading: "Rules", Text: text}}, ByWords: true}
}

// stored returns versions with two claims of rules.md; a person changed or approved the second if
// open is false.
func stored(open bool) *versions {
	v := &versions{map[string]*earlier{}, map[string]*earlier{}, map[string][]*earlier{}}
	v.add(&ken.Claim{Key: "k1", Source: "rules.md", Heading: "Rules", Text: "Tests run before every commit."}, true)
	v.add(&ken.Claim{Key: "k2", Source: "rules.md", Heading: "Rules", Text: "Deploys are on Monday."}, open)
	return v
}

func TestEntriesFindTheClaimsTheyWere(t *testing.T) {
	for _, tt := range []struct {
		name string
		open bool
		item foreign.Item
		want string
	}{
		{"unchanged", true, entry("k2", "rules.md", "Deploys are on Monday."), "k2"},
		{"edited", true, entry("new", "rules.md", "Deploys are on Tuesday."), "k2"},
		{"changed back", true, entry("k2", "rules.md", "Nothing like the former words."), "k2"},
		{"another sentence", true, entry("new", "rules.md", "Otto owns the printer."), "new"},
		{"edited, but approved", false, entry("new", "rules.md", "Deploys are on Tuesday."), "new"},
		{"corrected by a person", false, entry("k2", "rules.md", "Deploys are on Sunday."), "k2"},
		{"edited in another file", true, entry("new", "other.md", "Deploys are on Tuesday."), "new"},
		{"the key of other words", true, entry("k2", "other.md", "Deploys are on Sunday."), "k2@other.md"},
		{"beside the words that have its key", true, entry("k1", "rules.md", "Otto owns the printer."), "k1@rules.md"},
	} {
		list := []foreign.Item{entry("k1", "rules.md", "Tests run before every commit."), tt.item}
		stored(tt.open).match(list)
		if list[0].Claim.Key != "k1" || list[1].Claim.Key != tt.want {
			t.Errorf("%s: %s and %s, want k1 and %s", tt.name, list[0].Claim.Key, list[1].Claim.Key, tt.want)
		}
	}
}
