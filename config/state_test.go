package config_test

import (
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/config"
)

func TestStateIsInTheProject(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	cfg := config.Default()
	if got, want := cfg.State(root), filepath.Join(root, ".ken", "state"); got != want {
		t.Errorf("state in %s, want %s", got, want)
	}
	if cfg.Knowledge.DBPath = elsewhere; cfg.State(root) != elsewhere {
		t.Errorf("state in %s, want %s", cfg.State(root), elsewhere)
	}
}
