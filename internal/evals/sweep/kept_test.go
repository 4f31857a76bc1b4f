package sweep_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/sweep"
)

func TestKeptPath(t *testing.T) {
	for _, name := range []string{"before", "a", "2026-05_floor.2", strings.Repeat("x", sweep.MaxKeptName)} {
		got, err := sweep.KeptPath("state", name)
		if want := filepath.Join("state", "sweeps", name+".json"); err != nil || got != want {
			t.Errorf("KeptPath(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"", ".", "..", ".hidden", "-x", "_x", "a/b", `a\b`, "a b", "é", "a\x00", "../x", strings.Repeat("x", sweep.MaxKeptName+1)} {
		if got, err := sweep.KeptPath("state", name); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("KeptPath(%q) = %q, %v", name, got, err)
		}
	}
}

func TestKeptNameOfAnyTextIsOneOrEmpty(t *testing.T) {
	for text, want := range map[string]string{"locomo": "locomo", "my set/β": "my-set--", "../../etc": "etc", "...": "", "": "", strings.Repeat("y", 200): strings.Repeat("y", sweep.MaxKeptName)} {
		got := sweep.KeptName(text)
		if got != want {
			t.Errorf("KeptName(%q) = %q, want %q", text, got, want)
		}
		if _, err := sweep.KeptPath("", got); got != "" && err != nil {
			t.Errorf("KeptName(%q): %v", text, err)
		}
	}
}
