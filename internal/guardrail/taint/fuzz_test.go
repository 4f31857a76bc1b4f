package taint_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// For any claim and arguments: Check does not panic and is deterministic, the arguments
// match alike as plain text and as a JSON string, and a claim that is also in a trusted
// text is no match.
func FuzzCheck(f *testing.F) {
	for _, file := range []string{"cases.txt", "fresh.txt"} {
		for _, e := range examples(f, file) {
			f.Add(e.claims[0], e.args)
		}
	}
	f.Add("%", "\\")
	f.Add("\\u00", `{"a":"\u`)
	f.Add("a@b.c://", "+49 (")
	f.Fuzz(func(t *testing.T, claim, args string) {
		if len(claim) > 1<<14 || len(args) > 1<<14 {
			return
		}
		s := set(claim)
		got := s.Check(args, nil)
		if again := s.Check(args, nil); !slices.Equal(got, again) {
			t.Fatalf("first %+v, then %+v", got, again)
		}
		for _, m := range got {
			if m.ID != "c0" || m.Chars <= 0 {
				t.Fatalf("%+v", m)
			}
		}
		if s := strings.TrimLeft(args, " \t\r\n"); utf8.ValidString(args) && (s == "" || !strings.ContainsAny(s[:1], `{["`)) {
			quoted, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if in := set(claim).Check(`{"x":`+string(quoted)+`}`, nil); strings.IndexFunc(args, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 && (len(in) == 0) != (len(got) == 0) {
				t.Errorf("as a JSON string: %v, as plain text: %v", in, got)
			}
		}
		if accused := s.Check(args, slices.Values([]string{claim})); len(accused) != 0 {
			t.Errorf("said word for word, and still %+v", accused)
		}
	})
}
