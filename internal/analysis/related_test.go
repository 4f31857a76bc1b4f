package analysis

import (
	"slices"
	"strings"
	"testing"
)

func TestRelated(t *testing.T) {
	for word, want := range map[string]string{"connections": "conn", "conn": "connection", "retried": "backoff", "deleting": "evict", "directory": "dir"} {
		if got := Related(Terms(word)[0]); !slices.Contains(got, want) {
			t.Errorf("%q is related to %q, not to %q", word, got, want)
		}
	}
	if got := Related("giraff"); len(got) != 0 {
		t.Errorf("a word of no group is related to %q", got)
	}
	for line := range strings.Lines(relatedGroups) {
		if words := strings.Fields(line); !strings.HasPrefix(line, "#") && len(words) == 1 {
			t.Errorf("a group of one word: %q", line)
		}
	}
}
