package middleware_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/middleware"
)

// One number says when a verified claim decays: lifecycle.yaml's where it is set,
// the configuration's otherwise, for turns and for gc alike.
func TestTheLifecyclePolicyDecidesWhenClaimsDecay(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		want int
	}{
		"no file":          {"", 90},
		"not set":          {lifecycle.Example(), 90},
		"set":              {"confidence_decay_days: 7\n", 7},
		"never":            {"confidence_decay_days: -1\n", 0},
		"can't be read":    {"confidence_decay_days: soon\n", 90},
		"about other days": {"events_days: 3\n", 90},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.file != "" {
				path := filepath.Join(root, middleware.KnowledgeDir, lifecycle.FileName)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tc.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := open(t, settings(), in(root)).Config().Knowledge.DecayDays; got != tc.want {
				t.Errorf("%d days, want %d", got, tc.want)
			}
		})
	}
}
