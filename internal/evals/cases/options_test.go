package cases

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
)

// A result must not depend on how fast the machine is, nor on where the run keeps
// its stores; the caller's configuration stays as it is.
func TestWithDefaults(t *testing.T) {
	given := config.Default()
	given.Retrieval.Deadline, given.Knowledge.EmbedPath = time.Millisecond, "model"
	before := given
	_, cfg, err := Options{Root: "project", Config: &given}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil || cfg.Retrieval.Deadline != 30*time.Second || cfg.Middleware.Events ||
		!filepath.IsAbs(cfg.Knowledge.EmbedPath) || filepath.Base(filepath.Dir(cfg.Knowledge.EmbedPath)) != "project" {
		t.Errorf("%v: %v, %s", err, cfg.Retrieval.Deadline, cfg.Knowledge.EmbedPath)
	}
	if given.Retrieval.Deadline != before.Retrieval.Deadline || !given.Middleware.Events || given.Knowledge.EmbedPath != "model" {
		t.Errorf("the caller's configuration changed: %+v", given)
	}
}
