package config

import (
	"slices"
	"strings"
	"testing"
)

// A key whose kind affects things outside of the project must have a consent rule of its
// own, so that a new key gets one.
func TestEveryKeyThatReachesOutsideIsJudged(t *testing.T) {
	var c Config
	for _, k := range c.keys() {
		reaches := k.reach != "" || strings.HasSuffix(k.path, "_env") || strings.HasSuffix(k.path, "_url") || strings.HasSuffix(k.path, "path") || k.element != nil
		if reaches && k.consent == nil {
			t.Errorf("%s: declare what a project's file may say here before the user's consent: .judged(…)", k.path)
		}
		if reaches && k.consentRule().name == anyValue.name {
			t.Errorf("%s is free, and its values reach outside of the project", k.path)
		}
		if k.consentRule().name != anyValue.name && k.consentRule().why == "" {
			t.Errorf("%s: ken trust could not say what it decides", k.path)
		}
	}
}

// reviewed lists the keys with free text that a project may set freely. A new key fails
// the test below until somebody has considered what a stranger could write there.
var reviewed = []string{
	"tools.profile", // names of Ken's own tools; what is listed limits no right and gives none
}

func TestFreeTextIsReviewed(t *testing.T) {
	var c Config
	for _, k := range c.keys() {
		if k.text() && k.brief == "" && k.consentRule().name == anyValue.name && !slices.Contains(reviewed, k.path) && !strings.Contains(k.want, " or ") {
			t.Errorf("%s takes any text of a project's file: judge it, or add it to the list", k.path)
		}
	}
}

func TestStricterAndLess(t *testing.T) {
	s := stricter("x", "off", "flag", "block")
	for _, tt := range []struct {
		beneath, word string
		want          bool
	}{{"flag", "block", true}, {"flag", "off", false}, {"block", "flag", false}, {"off", "flag", true}} {
		if got := s.ok(proposal{beneath: []string{tt.beneath}, words: []string{tt.word}}); got != tt.want {
			t.Errorf("%s over %s: %v", tt.word, tt.beneath, got)
		}
	}
	if atMostUser("x").ok(proposal{beneath: []string{"10"}, words: []string{"11"}}) || !atMostUser("x").ok(proposal{beneath: []string{"10"}, words: []string{"9"}}) {
		t.Error("more is kept than the user wants, or less is not allowed")
	}
}
