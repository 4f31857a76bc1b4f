package intent

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func FuzzAnalyze(f *testing.F) {
	f.Add("When did Caroline go?", "panic: x\n\tmain.go:1 +0x1d")
	f.Add(goTrace, "```\n`a` 'b' \"c\" 「d」")
	f.Add("thanks @bob's it's n't '''", "File \"a.py\", line 3\nHTTP 500 exit code 2")
	f.Add("\x00\xff’’ 知識ｶﾞ ー ::", "C++# a.b. .. /// :1:2")
	f.Fuzz(func(t *testing.T, text, result string) {
		messages := []ken.Message{user("Where is Rome?"), user(text), {Role: "tool", Text: result}}
		s := Analyze(messages)
		for _, list := range []struct {
			items []string
			most  int
		}{{s.Keywords, maxKeywords}, {s.Symbols, maxSymbols}, {s.Failures, maxFailures}, {s.Entities, maxEntities}} {
			if list.items == nil || len(list.items) > list.most || slices.Contains(list.items, "") {
				t.Fatalf("list %q", list.items)
			}
			for i, item := range list.items {
				if !utf8.ValidString(item) || len(item) > 400 || slices.Contains(list.items[:i], item) {
					t.Fatalf("item %q of %q", item, list.items)
				}
			}
		}
		if n := utf8.RuneCountInString(s.Question); n > maxQuestion || !utf8.ValidString(s.Question) {
			t.Fatalf("question of %d characters: %q", n, s.Question)
		}
		if diff := cmp.Diff(s, Analyze(messages)); diff != "" {
			t.Fatal(diff)
		}
	})
}
