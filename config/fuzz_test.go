package config_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// FuzzParse checks that no input panics, that every refusal can be acted on, and
// that whatever is accepted survives being written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", config.Default().YAML(), "upstream: {model: \"a\\tb\"}", "retrieval:\n  legs: {keyword: 1_0}\n  floor: 1e-9\n",
		"retrieval: {scopes: [repo:x, run:'a,b']}", "repository: {exclude: ['#a', '', \"\\u00e9\"]}", "a: &a [*a]", "<<: {}",
		"upstream: |\n  x\n", "knowledge:\n  db_path: >-\n    a\n    b\n", "? a\n: b", "--- !t\n...", "breaker: {open: 0.5s}", "{{{", "\x00",
		"gateway:\n  keys:\n    - name: a\n      hash: " + hash + "\n    - {name: \"b, c\", hash: '" + hash + "1', rights: [chat]}\n",
		"gateway: {keys: [{name: '#', hash: '" + hash + "', owner: a.b, project: \"x: y\"}]}",
		"agents:\n  - name: a\n    produces: [artifact:x, \"file:a b\"]\n    command: [sh, -c, \"a\\nb\\t\"]\n    timeout: 90s\n  - {name: b, requires: [artifact:x, symbol:S]}\n", "agents: [[[[[x]]]]]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := config.Parse(in)
		if err != nil {
			var e *ken.Error
			if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Msg == "" || e.Try == "" {
				t.Fatalf("refused without saying how to go on: %#v", err)
			}
			return
		}
		again, err := config.Parse([]byte(c.YAML()))
		if err != nil {
			t.Fatalf("what was accepted is refused when written again: %v\n%s", err, c.YAML())
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Fatalf("changed when written again:\n%s", d)
		}
	})
}
