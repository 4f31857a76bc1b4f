package middleware_test

import "testing"

// A name that is a common word is one where it is written as one, and not in every
// sentence that has the word.
func TestARuleOfACommonWord(t *testing.T) {
	l := open(t, settings())
	toolchain := learn(t, l, ruleFor(t, "Stay on version 1.26 until the freeze is over.", "go"))[0]
	for q, want := range map[string]bool{
		"Can we go on with the release of the shop?":    false,
		"Does the go service of the shop build?":        true,
		"Does `go` build the shop with the new linker?": true,
		"Is Go what the shop is written in, or Rust?":   true,
	} {
		r := l.Assemble(t.Context(), asked(q)).Receipt
		if got := inBlock(&r, toolchain) != nil; got != want {
			t.Errorf("%s: %v, focal %v", q, got, r.Focal)
		}
	}
	said := learn(t, l, fact(t, "Never force-push to main."))[0]
	for _, q := range []string{"push my commits to main", "git push --force origin main", "Squash the last commits of the main branch and push them."} {
		r := l.Assemble(t.Context(), asked(q)).Receipt
		if inBlock(&r, said) == nil {
			t.Errorf("%s: the rule of main is missing, focal %v\n%s", q, r.Focal, r.Block)
		}
	}
}
