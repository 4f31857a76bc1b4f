package classify_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
)

// Whatever a model says, reading it ends, and names rows that were asked for alone.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"", `{"facts":[{"i":1,"aspect":"a","kind":"attribute","new":true}]}`, `[{"i":"2","dep_target":"x","dep_type":"uses"}]`,
		"```json\n{\"facts\":[]}\n```", `<think>x</think>{"facts":[{"i":3}]}`, strings.Repeat("{", 100), `{"i":1,"aspect":null,"kind":1}`, "\xff{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i := range classify.Verdicts(s, 8) {
			if i < 1 || i > 8 {
				t.Errorf("row %d", i)
			}
		}
		for i, n := range classify.Ties(s, 5) {
			if i < 1 || i > 5 || n < 1 || n > 4 {
				t.Errorf("row %d: %d times", i, n)
			}
		}
	})
}

// An aspect is spelled the same however often, and short.
func FuzzAspect(f *testing.F) {
	for _, s := range []string{"", "Deployment Process", "the deployment-process", "a/b testing", "how it all works out", "数据库", "misc", "'quoted'", "x\x00y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := classify.SpellAspect(s)
		if a != classify.SpellAspect(a) {
			t.Errorf("%q, then %q", a, classify.SpellAspect(a))
		}
		if len(strings.Fields(a)) > 3 || len([]rune(a)) > 40 || strings.ContainsAny(a, "\n\"<>{}") {
			t.Errorf("%q", a)
		}
	})
}
