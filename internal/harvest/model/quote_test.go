package model

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Models retell white space and quotation marks as they like; the words must be
// the message's own.
func TestFind(t *testing.T) {
	const said = "I don’t like “magic”: use plain SQL —\n  no ORM.\nStaging runs in <eu-west-1>, the piano tests too."
	for _, tt := range []struct{ text, quote, want string }{
		{said, "use plain SQL", "use plain SQL"},
		{said, "USE plain\tsql - no orm.", "use plain SQL —\n  no ORM"},
		{said, `I don't like "magic"`, "I don’t like “magic"},
		{said, "“I don‘t like «magic»: use”", "I don’t like “magic”: use"},
		{said, "| use plain SQL —\n| no ORM.", "use plain SQL —\n  no ORM"},
		{said, "runs in (eu-west-1), the", "runs in <eu-west-1>, the"},
		{said, "Staging runs in <eu-west-1>, the piano tests too!", "Staging runs in <eu-west-1>, the piano tests too"},
		{said, "runs in eu-west-1", ""},
		{said, "no tests", ""},
		{"no, the piano tests; no tests", "no tests", "no tests"},
		{said, "plain SQL is used", ""},
		{said, "use SQL", ""},
		{said, "", ""},
		{said, "...", ""},
		{"我们用 Postgres\n数据库存账单。", "我们用Postgres 数据库", ""},
		{"我们用\n数据库存账单。", "我们用数据库存 账单", "我们用\n数据库存账单"},
		{"Ça coûte 5 €…", "ça coûte 5 €...", "Ça coûte 5 €"},
		{"İstanbul is the office", "istanbul is the office", "İstanbul is the office"},
		{"a\u200bb c d e", "ab c d e", "a\u200bb c d e"},
		{"x", strings.Repeat("x", 100), ""},
	} {
		m := message{text: tt.text}
		got, ok := m.find(needle(tt.quote))
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q in %q: %q, %v; want %q", tt.quote, tt.text, got, ok, tt.want)
		}
		if ok && !strings.Contains(tt.text, got) {
			t.Errorf("%q is not what the message says", got)
		}
	}
}

func TestTelling(t *testing.T) {
	for quote, want := range map[string]bool{"yes": false, "ok": false, "do it": false, "use pnpm": false, "use the force": true, "rm -rf build": true,
		"Kubernetes 1.31": true, "don't do that": true, "我喜欢": true, "好的": false, "": false, "- - - -": false} {
		if got := isLongEnough(needle(quote)); got != want {
			t.Errorf("%q: %v", quote, got)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("I don’t like “magic”…", `don't like "magic"`, 3, 9)
	f.Add("日本 語\n b", "日本語", 0, 4)
	f.Add("\xff[a]\u200d", "(a)", 1, 2)
	f.Fuzz(func(t *testing.T, text, quote string, from, n int) {
		m := message{text: cleaned(text)}
		if got, ok := m.find(needle(quote)); ok && !strings.Contains(m.text, got) {
			t.Errorf("%q is not in %q", got, m.text)
		}
		// What is copied from word to word is found.
		words := strings.Fields(m.text)
		if from < 0 || n < 1 || n > 10 || from > len(words) || n > len(words)-from {
			return
		}
		copied := strings.Join(words[from:from+n], " ")
		q := needle(copied)
		if q == "" {
			return
		}
		if _, ok := m.find(q); !ok && !strings.HasPrefix(copied, "|") {
			t.Errorf("%q (%q) is not found in %q (%q)", copied, q, m.text, m.folded)
		}
	})
}

// A pasted file of one line must not make each fact of it cost a search of all.
func TestAroundIsNear(t *testing.T) {
	m := message{text: "before\n" + strings.Repeat("x ", 5000) + "the quote" + strings.Repeat(" 語", 5000) + "\nafter"}
	if got := m.around("the quote"); len(got) != 2*near+len("the quote") || !strings.Contains(got, "x the quote 語") {
		t.Errorf("%d bytes", len(got))
	}
	m = message{text: "before\nsaid: the quote.\nafter"}
	if got := m.around("the quote"); got != "said: the quote." {
		t.Errorf("%q", got)
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"One. Two! Three? Four", []string{"One. ", "Two! ", "Three? ", "Four"}},
		{"It is v1.2 of main.go, e.g. Go. Done.", []string{"It is v1.2 of main.go, e.g. Go. ", "Done."}},
		{"Dr. Who met J. Smith. Then they left.", []string{"Dr. Who met J. Smith. ", "Then they left."}},
		{"A stop. before small letters", []string{"A stop. before small letters"}},
		{"第一。第二！第三", []string{"第一。", "第二！", "第三"}},
		{"line\n\nother", []string{"line\n\n", "other"}},
		{"", nil},
		{".", []string{"."}},
	} {
		if diff := cmp.Diff(tt.want, slices.Collect(sentences(tt.text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestUpToSentence(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"One. Two.", 9, "One. Two."},
		{"One. Two.", 8, "One."},
		{"One. Two.", 4, "One."},
		{"One. Two.", 3, ""},
		{"no end at all", 5, ""},
		{"一二。三四。", 4, "一二。"},
	} {
		if got := upToSentence(tt.text, tt.most); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("One. Two! e.g. Three\n四。五", 7)
	f.Add("\xff. \xe3\x80", 1)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if got := strings.Join(slices.Collect(sentences(text)), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if most < 1 {
			return
		}
		if got := upToSentence(text, most); utf8.RuneCountInString(got) > most || !strings.Contains(text, got) {
			t.Errorf("%q to %d: %q", text, most, got)
		}
		if got := shortSummary(strings.ToValidUTF8(text, ""), most+2); utf8.RuneCountInString(got) > most+2 {
			t.Errorf("%q to %d: %q", text, most+2, got)
		}
	})
}
