package attention

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const someID = "0198a000-0000-7000-8000-000000000001"

func TestContradictionReason(t *testing.T) {
	for _, tt := range []struct{ reason, other, why string }{
		{ContradictionReason(someID, ""), someID, ""},
		{ContradictionReason(someID, " 8080: and 9090 "), someID, "8080: and 9090"},
		{"contradicts " + strings.ToUpper(someID), someID, ""},
	} {
		if other, why, ok := contradicted(tt.reason); !ok || other != tt.other || why != tt.why {
			t.Errorf("%q: %q, %q, %v", tt.reason, other, why, ok)
		}
	}
	for _, reason := range []string{"", "contradicts", "contradicts the log", "It contradicts " + someID, "contradicts : x"} {
		if other, _, ok := contradicted(reason); ok {
			t.Errorf("%q names %q", reason, other)
		}
	}
}

func FuzzContradicted(f *testing.F) {
	f.Add(ContradictionReason(someID, "x: y"))
	f.Add("contradicts :")
	f.Fuzz(func(t *testing.T, reason string) {
		other, why, ok := contradicted(reason)
		if !ok {
			return
		}
		if again, because, ok := contradicted(ContradictionReason(other, why)); !ok || again != other || because != why {
			t.Errorf("%q: %q, %q became %q, %q", reason, other, why, again, because)
		}
	})
}

func TestExcerpt(t *testing.T) {
	if got := excerpt(" a\n\tb  c "); got != "a b c" {
		t.Errorf("got %q", got)
	}
	long := excerpt(strings.Repeat("部署", 200))
	if utf8.RuneCountInString(long) != maxExcerpt || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(long), long)
	}
}
