package extract

import (
	"testing"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// verdictOf is what a sentence is taken for once its openings are off.
func verdictOf(text string, toAgent bool) (draft.Sort, string) {
	s := sentences(text)[0]
	s.open(nil)
	if !s.head() {
		return "", reasonQuestion
	}
	v := judge(&s, toAgent)
	if v.reason != "" {
		return "", v.reason
	}
	return v.sort, ""
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		text   string
		agent  string // what it is to an agent: a sort or a reason
		people string // and among people; "" for the same
	}{
		{"I moved to Lyon in May.", "fact", ""},
		{"We agreed to meet in Geneva on 3 June.", "decision", ""},
		{"I've decided to adopt a dog.", "decision", ""},
		{"I have not decided between Oslo and Bergen.", "fact", ""},
		{"I never drink coffee after noon.", "preference", ""},
		{"My favorite band is The Wanderers.", "preference", ""},
		{"I'm allergic to walnuts.", "preference", ""},
		{"The batch must not exceed 500 invoices.", "constraint", "fact"},
		{"Tokens may only be read by the gateway.", "constraint", "fact"},
		{"I must leave for Oslo at noon.", "fact", ""},

		{"Always write the tests first.", "instruction", "small talk"},
		{"Never give up on the marathon!", "instruction", "small talk"},
		{"Please never push to main.", "instruction", "small talk"},
		{"By default, answer in English.", "instruction", "small talk"},
		{"Do not mock the database in tests.", "instruction", "small talk"},
		{"You should always run the linter.", "instruction", "small talk"},
		{"You need to run make generate before the tests.", "instruction", "small talk"},
		{"Write commit messages in English.", "instruction", "small talk"},
		{"Keep functions short, not clever.", "instruction", "small talk"},
		{"Don't do it again until I say so.", "request", "small talk"},
		{"Don't forget the milk.", "small talk", ""},
		{"Stop here.", "request", "small talk"},

		{"Add a test for the empty list.", "request", "small talk"},
		{"Now also rename the handler to Export.", "request", "small talk"},
		{"please look at ledger.go", "request", "small talk"},
		{"I want you to rename the handler.", "request", "small talk"},
		{"If the build breaks, revert the commit.", "request", "small talk"},
		{"If the flag is set, the cache in Oslo is skipped.", "fact", ""},
		{"Build 417 is on staging.", "fact", ""},
		{"Test failures are mailed to Priya.", "fact", ""},

		{"What about the ledger?", "question", ""},
		{"can the ledger be moved", "question", ""},
		{"Any idea why the ledger stops", "question", ""},
		{"What I like about Oslo is the sea.", "preference", ""},

		{"Congrats on the new job!", "small talk", ""},
		{"You'd be a great counselor!", "small talk", ""},
		{"Your painting of the sunset looks amazing.", "small talk", ""},
		{"Glad to hear that.", "small talk", ""},
		{"Hope the interview in Oslo goes well.", "small talk", ""},
		{"Suppose the ledger moves to Bergen.", "hypothetical", ""},
		{"If I were in Oslo, I would visit.", "hypothetical", ""},
		{"The passphrase is correct horse.", "secret", ""},
		{"Here is my configuration of nginx:", "says little", ""},
		{"Lovely weather and a sea breeze", "small talk", ""},
		{"Four red boats, two blue ones", "fact", ""},
		{"In the cellar of the old house", "says little", "fact"},
	} {
		for _, side := range []struct {
			toAgent bool
			want    string
		}{{true, tt.agent}, {false, tt.people}} {
			if side.want == "" {
				side.want = tt.agent
			}
			sort, reason := verdictOf(tt.text, side.toAgent)
			if got := string(sort) + reason; got != side.want {
				t.Errorf("%q (to an agent %v): got %q, want %q", tt.text, side.toAgent, got, side.want)
			}
		}
	}
}

func TestQuestioning(t *testing.T) {
	for text, want := range map[string]bool{
		"is there a way": true, "do you know": true, "don't you think so": false, "what is it": true, "what's up": true,
		"how to deploy": true, "how about lunch": true, "where is Oslo": true, "any tips": true, "when does it run": true,
		"when I was young": false, "what matters is speed": false, "do not push": false, "will is my brother": false,
		"may is my month": false, "have fun": false, "": false,
	} {
		if got := isUnmarkedQuestion(wordsOf(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestImperative(t *testing.T) {
	for text, want := range map[string]bool{
		"fix it": true, "now fix it": true, "please have a look": true, "kindly wait": true, "first, list the files": true,
		"if it fails, rerun it": true, "if it fails, the job stops": false, "build is red": false, "test has passed": false,
		"the build": false, "": false,
	} {
		if got := imperative(wordsOf(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPredicates(t *testing.T) {
	for text, want := range map[string]bool{
		"The ledger runs daily": true, "Deploys happen on Tuesdays": true, "Priya moved": true, "That isn't so": true,
		"For internal purposes only": false, "In Oslo we are three": true, "Red boat": false, "Ana's boat": false,
	} {
		if got := hasVerb(wordsOf(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
