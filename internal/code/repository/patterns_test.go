package repository

import "testing"

func TestIgnoreOfOneFile(t *testing.T) {
	g := ParseIgnore("# what goes\nstate/cache/\n*.tmp\n!keep.tmp\n/top.json\n\n")
	for rel, want := range map[string]bool{
		"state/cache/a": true, "state/cache/keep.tmp": true, "state/a.tmp": true, "state/keep.tmp": false,
		"top.json": true, "state/top.json": false, "state/cache": false, "state/b": false,
	} {
		if got := g.Matches(rel, false); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
	if !g.Matches("state/cache", true) || !ParseIgnore("# nothing\n").Empty() || g.Empty() {
		t.Error("folders, or emptiness")
	}
}
