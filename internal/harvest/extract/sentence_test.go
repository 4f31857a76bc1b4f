package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentences(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"three", "One is here. Two is there! Is three? Yes", "One is here.|Two is there!|Is three?|Yes"},
		{"abbreviations", "Ask Dr. Who, e.g. at 3 p.m. on Friday. Then go.", "Ask Dr. Who, e.g. at 3 p.m. on Friday.|Then go."},
		{"initials and versions", "J. Doe runs v2.6.1 of go.mod. Fine.", "J. Doe runs v2.6.1 of go.mod.|Fine."},
		{"emoji", "I won!🎉 Come over.", "I won!🎉|Come over."},
		{"dots", "Well... I moved... to Lyon.", "Well...|I moved... to Lyon."},
		{"quotes", "He said \"Stop.\" Then he left.", "He said \"Stop.\"|Then he left."},
		{"wide", "猫が好き。本番は東京。", "猫が好き。|本番は東京。"},
		{"wrapped", "This line is long enough to be wrapped by an editor, so it\ngoes on here. And\nhere.", "This line is long enough to be wrapped by an editor, so it goes on here.|And|here."},
		{"lines", "First line\nSecond line\n\nThird", "First line|Second line|Third"},
		{"list", "Plan:\n- one thing\n- another thing,\n  that goes on\n1. numbered", "Plan:|one thing|another thing, that goes on|numbered"},
		{"emphasis", "**Bold start.** Then plain.", "Bold start.|Then plain."},
		{"attached", "Look at this [image: a dog. A cat]", "Look at this|[image: a dog.|A cat]"},
		{"code", "Before.\n```go\nx := 1\n```\nAfter.", "Before.|After."},
		{"inline fence", "Use ```x``` here.\nAfter.", "Use ```x``` here.|After."},
		{"tag", "Hi.\n<note>\nInside.\n</note>\nAfter.", "Hi.|After."},
		{"tag on a line", "<b>Bold</b>\nAfter.", "After."},
		{"nothing", " \n\t\n", ""},
		{"nothing behind a mark", "Fine. \u00a0", "Fine."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range sentences(tt.text) {
				got = append(got, s.text)
				if squeeze(tt.text[s.start:s.end]) != s.text {
					t.Errorf("%q is %q in the message", s.text, tt.text[s.start:s.end])
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "|")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of a long message the two ends are read.
func TestSentencesOfALongMessage(t *testing.T) {
	middle := strings.Repeat("The middle was pasted. ", 2000)
	for name, text := range map[string]string{
		"one line": "The beginning was typed. " + middle + "The end was typed.",
		"lines":    "The beginning was typed.\n" + strings.ReplaceAll(middle, ". ", ".\n") + "The end was typed.",
	} {
		all := sentences(text)
		if len(all) == 0 || len(all) > maxSentences || all[0].text != "The beginning was typed." || all[len(all)-1].text != "The end was typed." {
			t.Errorf("%s: %d sentences", name, len(all))
		}
	}
	for n, want := range map[int]int{3: 0, 59: 0, 60: 1, 71: 12, 200: 141} {
		all, unread := sentencesRead(strings.Repeat("It was wet. ", n) + "The end was typed.")
		if unread != want || len(all)+unread != n+1 || all[len(all)-1].text != "The end was typed." {
			t.Errorf("%d sentences: %d are read and %d not, want %d not", n+1, len(all), unread, want)
		}
	}
	text := strings.Repeat("word ", 400) + "." // one sentence that nobody wrote
	if all := sentences(text); len(all) != 0 {
		t.Errorf("a sentence of %d bytes: %q", len(text), all[0].text)
	}
}

func TestProse(t *testing.T) {
	for line, want := range map[string]bool{
		"The handler returns 200 when `err == nil` holds.": true,
		"I moved from Paris to Lyon (France).":             true,
		"We pay 1,500 € a month, i.e. 50 € a day.":         true,
		"Type class names in capitals":                     true,
		"See https://example.com/docs/page for the plan.":  true,
		"if err != nil { return err }":                     false,
		"const x = () => 1":                                false,
		"return foo;":                                      false,
		"def connect(self, host):":                         false,
		"  | a | b |":                                      false,
		"[2026-03-02 10:00:00] request done":               false,
		"2026-03-02T10:00:00Z request done":                false,
		"10:11:12.345 request done":                        false,
		"WARN: cache is cold":                              false,
		"goroutine 1 [running]:":                           false,
		"at Object.<anonymous> (/srv/app.js:1:1)":          false,
		"$ go test ./...":                                  false,
		"/srv/billing/export.go was changed":               false,
		strings.Repeat("YWJj", 60):                         false,
		"":                                                 false,
		"{\"a\": 1}":                                       false,
		"✓ 12 tests passed":                                false,
		"<div class=\"x\">text</div>":                      false,
		"SELECT a, b FROM t WHERE a = 1;":                  false,
	} {
		if got := isProse(strings.TrimSpace(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestHead(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"I moved to Lyon in May, can you suggest a dentist?", "I moved to Lyon in May"},
		{"I use Go 1.26 and Postgres, and I was wondering if you could review my code.", "I use Go 1.26 and Postgres"},
		{"I bought a car, which is red.", "I bought a car, which is red."},
		{"I bought a red car, isn't it nice?", ""},
		{"Is the car red?", ""},
		{"How do I paint the car red", ""},
		{"When I was young, I lived in Lyon.", "When I was young, I lived in Lyon."},
	} {
		s := sentences(tt.text)[0]
		got := ""
		if s.head() {
			got = s.text
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestClauses(t *testing.T) {
	s := sentences("I run the ledger on three nodes in Oslo, and I keep its backups in Bergen; the keys are with Priya, but we want to move them soon.")[0]
	var got []string
	for _, c := range s.clauses(60) {
		got = append(got, c.text)
	}
	want := []string{"I run the ledger on three nodes in Oslo", "I keep its backups in Bergen", "the keys are with Priya", "we want to move them soon."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if whole := s.clauses(300); len(whole) != 1 || whole[0].text != s.text {
		t.Errorf("a sentence that fits was split: %v", whole)
	}
}

func TestLeans(t *testing.T) {
	for _, tt := range []struct {
		text   string
		people bool
		want   bool
	}{
		{"It runs on node 4.", false, true},
		{"She is a nurse.", false, true},
		{"Its purpose is to sync.", false, true},
		{"This project uses Go.", false, false},
		{"That server is slow.", false, true},
		{"That necklace is from Sweden.", true, false},
		{"That is from Sweden.", true, true},
		{"I painted it.", true, true},
		{"My sister Ana painted it.", true, false},
		{"I love it when the market opens.", true, false},
		{"I help those with similar problems.", true, false},
		{"Although it rained, we went to Lyon.", false, false},
		{"Because of the rain.", false, true},
		{"Both servers run Debian.", false, false},
		{"", false, true},
	} {
		if got := needsContext(wordsOf(tt.text), tt.people); got != tt.want {
			t.Errorf("%q (people %v): %v", tt.text, tt.people, got)
		}
	}
}

// A line of a chat is a sentence of its own, and a line that was broken to fit is none.
func TestLinesOfAChat(t *testing.T) {
	for _, tt := range []struct {
		said string
		want int
	}{
		{"gates talk to us over MQTT, the broker is a mosquitto on port 1884\nnumber plates are wiped after 30 days\npprof says 4100 goroutines at the moment", 3},
		{"lessons are tuesdays at 5 with Mr Okonjo-Reyes\nkeep wednesdays free in any plan, thats choir", 2},
		{"levels are 64 tiles wide\nIsmene draws all the sprites, in aseprite, files are under art/src\nshes also the one with taste", 3},
		{"The retention of number plates was set to thirty days by the legal\ndepartment, and the cleanup job that was written for it in spring\nruns every night.", 1},
		{"We moved the database of the ledger to another region because of the\nprice.", 1},
	} {
		if got := sentences(tt.said); len(got) != tt.want {
			t.Errorf("%q: %d sentences, want %d: %+v", tt.said, len(got), tt.want, got)
		}
	}
}
