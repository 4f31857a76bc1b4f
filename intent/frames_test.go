package intent

import "testing"

func TestSubject(t *testing.T) {
	for text, want := range map[string]string{
		"Can you give me a comprehensive summary of how the ledger works?": "how the ledger works?",
		"python sort a list by key":                                        "sort a list by key",
		"How does the ledger work?":                                        "",
		"Can you?":                                                         "",
		"Can you list the order in which I brought up the budget throughout our conversations, in order?": "the budget , ?",
	} {
		if got := analyze(text).Subject; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFramesAreNoKeywords(t *testing.T) {
	for text, want := range map[string]string{
		"Can you list the order in which I brought up different aspects of my budget tracker throughout our conversations, in order? Mention ONLY and ONLY five items.": "budget|tracker",
		"Can you give me a comprehensive summary of how the ledger has progressed?":                                                                                     "ledger|progressed",
		"How many weeks did I mention wanting to spend in Rome?":                                                                                                        "weeks|spend|rome|many",
		"What did we discuss?":                        "discuss",
		"list the items in the order book":            "list|items|order|book",
		"python sort a list of items by key":          "sort|list|items|key",
		"how to sort a dictionary in python?":         "sort|dictionary",
		"sum of squares python":                       "sum|squares",
		"why did we move the billing service to Java": "move|billing|service|java",
		"do we use python":                            "python|use",
		"Python, Ruby or Rust?":                       "python|ruby|rust",
		"help me with the release notes":              "release|notes",
	} {
		equal(t, text, want, analyze(text).Keywords)
	}
}
