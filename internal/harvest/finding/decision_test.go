package finding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
)

func TestDecided(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"docs/adr/0007-use-bbolt.md", "# 7. Use bbolt\n\nDate: 2026-01-01\n\n## Status\n\nAccepted\n", `Decision 0007 "Use bbolt" is accepted`},
		{"docs/decisions/0003-x.md", "# ADR-0003: Sign webhooks\n\n* Status: proposed\n", `Decision 0003 "Sign webhooks" is proposed`},
		{"adr/12-x.md", "---\ntitle: \"Cents\"\nstatus: superseded by 14\n---\n", `Decision 12 "Cents" is superseded`},
		{"architecture/decisions/0001-x.md", "# 1 — Ids\n\n- **Status:** Accepted (2026-06-01), shipped\n", `Decision 0001 "Ids" is accepted`},
		{"docs/adr/0002-x.md", "# Two\n\n| Status | Deprecated |\n", `Decision 0002 "Two" is deprecated`},
		{"docs/adr/0002-x.md", "# Two\n\nThe status: is unclear to all.\n", `Decision 0002 "Two"`},
		{"docs/adr/0002-x.md", "in the middle of it", ""},
	} {
		if !isDecision(tt.name) {
			t.Errorf("%s is no record", tt.name)
		}
		if got := decided(tt.name, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{"docs/0001-intro.md", "adr/README.md", "decisions/index.md", "adr.go", "migrations/0001-init.sql"} {
		if isDecision(name) {
			t.Errorf("%s is a record", name)
		}
	}
}

// The records of a real project: each has a title and a status.
func TestDecisionsOfARealProject(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(evaldata.Dir(t, "adr"), "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	status := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := "docs/adr/" + filepath.Base(file)
		if !isDecision(name) {
			continue
		}
		d := decided(name, string(text))
		if d == "" {
			t.Errorf("%s: nothing", name)
		}
		_, is, _ := strings.Cut(d, "\" is ")
		status[is]++
	}
	t.Logf("%d files: %v", len(files), status)
	if status["accepted"] < len(files)/2 || status[""] > len(files)/10 {
		t.Errorf("status of %d records: %v", len(files), status)
	}
}
