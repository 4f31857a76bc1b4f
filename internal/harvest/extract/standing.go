package extract

import "github.com/kenlayer/ken/internal/analysis"

// isStanding reports whether an order holds beyond the moment, though no word such as "always" says so: "stop using
// emojis", "make sure to lint before every commit", "ask before you install anything", "when you change the schema,
// run make gen".
func isStanding(w []word) bool {
	if len(w) > 0 && (w[0].low == "please" || joining[w[0].low]) {
		w = w[1:]
	}
	if len(w) < 3 || isForNow(w) || has(w, len(w), pronouns) {
		return false
	}
	switch first := w[0].low; {
	case first == "stop":
		return habits[w[1].low]
	case first == "make" && w[1].low == "sure":
		return has(w, len(w), repeated)
	case asksBefore(w) > 0:
		n := asksBefore(w)
		return n < len(w) && (w[n].low == "you" && n+1 < len(w) && !analysis.IsStopWord(w[n+1].low) || doings[w[n].low])
	case conditions[first] && w[1].low == "you" && changes[low(w, 2)]:
		for i := 3; i+1 < len(w); i++ {
			if w[i].comma {
				return imperatives[w[i+1].low] || manners[w[i+1].low]
			}
		}
	case imperatives[first] || manners[first]:
		return recurs(w)
	}
	return false
}

// asksBefore returns the number of words up to "before" in an order to ask somebody first: "ask Priya before you touch the
// schema". It is 0 for other words.
func asksBefore(w []word) int {
	if n := askBefore.starts(w); n > 0 {
		return n
	}
	n := askWhom.starts(w)
	if n == 0 {
		return 0
	}
	for i := n + 1; i < min(len(w), n+4); i++ {
		if w[i].low == "before" && !w[i-1].comma {
			return i + 1
		}
	}
	return 0
}

var askWhom = list("ask, ping, consult, check with, talk to, clear it with")

// recurs reports whether an order is for each time that something is done: "run the linter before every commit".
func recurs(w []word) bool {
	for i := 2; i+2 < len(w); i++ {
		if w[i+1].low != "every" && w[i+1].low != "each" {
			continue
		}
		switch w[i].low {
		case "before", "after":
			return true
		case "on", "with", "for", "at":
			return occasions[w[i+2].low]
		}
	}
	return false
}

var occasions = analysis.Set("commit push release merge deploy deployment pr build rebase change migration")

var (
	habits    = analysis.Set("using adding writing putting calling committing rewriting reformatting guessing apologising apologizing touching mocking inventing assuming repeating creating suggesting summarising summarizing")
	repeated  = analysis.Set("every each always never")
	askBefore = list("ask before, ask me before, ask us before, ask first before, check with me before, check with us before, tell me before, tell us before")
	doings    = analysis.Set("installing deploying deleting dropping pushing merging changing touching adding removing running creating upgrading publishing committing renaming")
	changes   = analysis.Set("touch change edit add rename modify delete remove bump release upgrade introduce")
)
