package config_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

func TestGetAndSet(t *testing.T) {
	c := config.Default()
	for _, tt := range [][2]string{
		{"retrieval.floor", "0.25"}, {"retrieval.legs.vector", "80"}, {"injection.sticky", "false"}, {"upstream.timeout", "1h"},
		{"retrieval.weight", "none"}, {"retrieval.scopes", "repo:a/b,agent:x"}, {"repository.exclude", ""}, {"upstream.model", "a, b"},
		{"harvest.command", `["sh","-c","a, b"]`},
	} {
		if err := c.Set(tt[0], tt[1]); err != nil {
			t.Error(err)
		} else if got, err := c.Get(tt[0]); err != nil || got != tt[1] {
			t.Errorf("%s = %q, %v; want %q", tt[0], got, err, tt[1])
		}
	}
	if got := config.Default().Retrieval.Floor; got != 0.16 {
		t.Errorf("Set changed the defaults: %v", got)
	}
}

func TestSetReadsLists(t *testing.T) {
	for text, want := range map[string][]string{
		"codex, exec": {"codex", "exec"}, `[codex, exec, "-"]`: {"codex", "exec", "-"}, `["sh", "-c", "a, b"]`: {"sh", "-c", "a, b"}, "[]": nil, "": nil,
	} {
		c := config.Default()
		if err := c.Set("harvest.command", text); err != nil || !slices.Equal(c.Harvest.Command, want) {
			t.Errorf("%q: %q, %v; want %q", text, c.Harvest.Command, err, want)
		}
	}
}

func TestEveryKeyReadsBackWhatItGives(t *testing.T) {
	c := config.Default()
	for _, path := range config.Keys() {
		v, err := c.Get(path)
		if err != nil {
			t.Error(err)
		}
		if err := c.Set(path, v); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff(config.Default(), c); d != "" {
		t.Error(d)
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range [][3]string{
		{"retrieval.flor", "0.2", "Use retrieval.floor."},
		{"floor", "0.2", "Use middleware.floor or retrieval.floor."},
		{"retrieval.legs", "0.2", "Use one of retrieval.legs.keyword, retrieval.legs.vector, retrieval.legs.structure."},
		{"harvest.command", "[a: b]", "Give the elements with commas between them, or a list in brackets as in YAML."},
		{"retrieval.pool", "0", "Give a whole number from 1 to 1000, or leave the key out for its default."},
	} {
		c := config.Default()
		err := c.Set(tt[0], tt[1])
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != tt[0] || e.Try != tt[2] {
			t.Errorf("%s: %v, Try: %s", tt[0], err, ken.Hint(err))
		}
		if d := cmp.Diff(config.Default(), c); d != "" {
			t.Errorf("a refused Set changed something:\n%s", d)
		}
	}
}
