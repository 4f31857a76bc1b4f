package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWordsOf(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "I moved to Lyon.", "i moved to lyon,"},
		{"apostrophes", "I’m Ana's friend", "i'm ana's friend"},
		{"punctuation around", "(Well) \"yes\", 'no' — fine…", "well, yes, no,  fine,"},
		{"numbers and names", "v2.6.1 on C++ at 3%", "v2.6.1 on c++ at 3%"},
		{"code has no word", "Run `go test -v` now", "run    now"},
		{"code in a word", "the `x`-axis", "the "},
		{"an open tick", "a ` b c", "a   "},
		{"accents", "Élan ÜBER Straße", "élan über straße"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, w := range wordsOf(tt.text) {
				s := w.low
				if w.comma && w.low != "" {
					s += ","
				}
				got = append(got, s)
				if core := tt.text[w.start:w.end]; !w.code && lower(core) != w.low {
					t.Errorf("%q is %q in the text", w.low, core)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWordsKnowCapitalsAndCode(t *testing.T) {
	words := wordsOf("Ana ran `Go Test` in Élysée park")
	var upper, code []string
	for i := range words {
		w := &words[i]
		if w.upper {
			upper = append(upper, w.low)
		}
		if w.code {
			code = append(code, "x")
		}
	}
	if diff := cmp.Diff([]string{"ana", "", "", "élysée"}, upper); diff != "" {
		t.Errorf("capitals (-want +got):\n%s", diff)
	}
	if len(code) != 2 {
		t.Errorf("%d words of code", len(code))
	}
}

func TestPhrases(t *testing.T) {
	p := list("let's use, let's use only, i decided,, we")
	for _, tt := range []struct {
		text      string
		n, starts int
	}{
		{"Let's use pgx.", 0, 2},
		{"Let's use only pgx.", 0, 3},
		{"Today I decided.", 1, 0},
		{"I have decided.", -1, 0},
		{"we", 0, 1},
		{"let's", -1, 0},
		{"Call `i decided` here.", -1, 0},
		{"", -1, 0},
	} {
		words := wordsOf(tt.text)
		if got := p.in(words); got != tt.n {
			t.Errorf("%q: found at %d, want %d", tt.text, got, tt.n)
		}
		if got := p.starts(words); got != tt.starts {
			t.Errorf("%q: starts with %d words, want %d", tt.text, got, tt.starts)
		}
	}
}

// A phrase with a capital or a typographic apostrophe would never be found.
func TestPhrasesAreWrittenAsWordsAre(t *testing.T) {
	for name, p := range map[string]phrases{
		"longOpenings": longOpenings, "requests": requests, "wants": wants, "lasting": lasting, "forbids": forbids, "ordersYou": ordersYou,
		"choices": choices, "forNow": forNow, "calms": calms, "remembers": remembers, "likings": likings, "personal": personal,
		"decisions": decisions, "rules": rules, "hedges": hedges, "hypotheses": hypotheses, "planted": planted, "proposals": proposals,
		"nexts": nexts, "closings": closings,
	} {
		if len(p.byFirst()) == 0 {
			t.Errorf("%s is empty", name)
		}
		for first, all := range p.byFirst() {
			for _, phrase := range all {
				text := strings.Join(phrase, " ")
				if phrase[0] != first || p.starts(wordsOf(text)) != len(phrase) {
					t.Errorf("%s: %q is not found in itself", name, text)
				}
			}
		}
	}
}

func TestWordListsAreWrittenAsWordsAre(t *testing.T) {
	for name, words := range map[string]map[string]bool{
		"openings": openings, "phatic": phatic, "asking": asking, "wondering": wondering, "imperatives": imperatives, "manners": manners,
		"pronouns": pronouns, "standIns": standIns, "fragments": fragments, "self": self, "other": other, "copulas": copulas, "verbs": verbs,
		"overrides": overrides, "overruled": overruled, "assent": assent, "refusals": refusals, "retelling": retelling, "troubles": troubles,
	} {
		for w := range words {
			if got := low(wordsOf(w), 0); got != w {
				t.Errorf("%s: %q is read as %q", name, w, got)
			}
		}
	}
}

func TestCharacters(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é東🎉": 3} {
		if got := characters(s); got != want {
			t.Errorf("%q has %d", s, got)
		}
	}
	if got := squeeze(" a\n\tb\u00a0c "); got != "a b c" {
		t.Errorf("squeezed to %q", got)
	}
}

func TestExplain(t *testing.T) {
	monday := time.Date(2023, time.May, 8, 13, 56, 0, 0, time.UTC)
	thursday := monday.AddDate(0, 0, 3)
	sunday := monday.AddDate(0, 0, 6)
	newYear := time.Date(2024, time.January, 1, 0, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		at         time.Time
		text, want string
	}{
		{monday, "I went yesterday.", "I went yesterday (7 May 2023)."},
		{monday, "Today, it rained", "Today (8 May 2023), it rained"},
		{monday, "we fly tomorrow!", "we fly tomorrow (9 May 2023)!"},
		{monday, "I slept badly last night.", "I slept badly last night (7 May 2023)."},
		{newYear, "I went yesterday.", "I went yesterday (31 December 2023)."},
		{monday, "I ran last Saturday.", "I ran last Saturday (6 May 2023)."},
		{monday, "See you this Friday.", "See you this Friday (12 May 2023)."},
		{sunday, "See you next Friday.", "See you next Friday (19 May 2023)."},
		{monday, "I moved last month.", "I moved last month (April 2023)."},
		{newYear, "I moved last month.", "I moved last month (December 2023)."},
		{monday, "I retired last year and sail this year.", "I retired last year (2022) and sail this year (2023)."},
		{monday, "It starts next week.", "It starts next week (the week of 15 May 2023)."},
		{thursday, "It was last weekend.", "It was last weekend (the weekend of 6 May 2023)."},
		{monday, "We met three days ago.", "We met three days ago (5 May 2023)."},
		{monday, "We met two weeks ago.", "We met two weeks ago (the week of 24 April 2023)."},
		{monday, "We met 10 years ago.", "We met 10 years ago (2013)."},
		{monday, "We met a month ago.", "We met a month ago (April 2023)."},
		{monday, "We met last June.", "We met last June (June 2022)."},
		{monday, "We meet next June.", "We meet next June (June 2023)."},

		// What may mean two dates, or none.
		{thursday, "I saw her last Tuesday.", "I saw her last Tuesday."},
		{monday, "See you next Friday.", "See you next Friday."},
		{monday, "See you on Friday.", "See you on Friday."},
		{sunday, "It was last weekend.", "It was last weekend."},
		{monday, "It took the last week.", "It took the last week."},
		{monday, "A few days ago we met.", "A few days ago we met."},
		{monday, "It feels like yesterday.", "It feels like yesterday."},
		{monday, "the day before yesterday", "the day before yesterday"},
		{monday, "the day after tomorrow", "the day after tomorrow"},
		{monday, "last but not least", "last but not least"},
		{monday, "I went yesterday (Sunday).", "I went yesterday (Sunday)."},
		{monday, "Run `yesterday` first.", "Run `yesterday` first."},
		{time.Time{}, "I went yesterday.", "I went yesterday."},

		{monday, "today tomorrow yesterday", "today (8 May 2023) tomorrow (9 May 2023) yesterday"},
	} {
		if got := explain(tt.text, tt.at); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.at.Weekday(), got, tt.want)
		}
	}
}

// The date is that of the place where it was said.
func TestExplainKeepsTheZone(t *testing.T) {
	tokyo := time.FixedZone("Tokyo", 9*60*60)
	at := time.Date(2023, time.May, 8, 23, 30, 0, 0, time.UTC)
	if got, want := explain("today", at.In(tokyo)), "today (9 May 2023)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
