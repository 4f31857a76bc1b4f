package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// Limits for the README, because it is read first: the number of words, counted as by wc -w, and the average number of
// words per sentence.
const (
	readmeWords    = 1200
	readmeSentence = 16
)

var (
	linked      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	notText     = regexp.MustCompile(`^(#|\||!\[)`)                    // headings, tables, pictures
	sentenceEnd = regexp.MustCompile(`[.!?](\*\*)?(\s+|$)|\n\n+|\n- `) // an item of a list is a sentence
)

// readmeIsShort checks the length of the README and of its sentences.
func readmeIsShort(tr *tree) (faults []string) {
	text := tr.docs["README.md"]
	if n := len(strings.Fields(text)); n > readmeWords {
		faults = append(faults, fmt.Sprintf("README.md: %d words, at most %d", n, readmeWords))
	}
	words, sentences := 0, 0
	for _, s := range sentencesOf(text) {
		words += len(strings.Fields(s))
		sentences++
	}
	if words > readmeSentence*sentences {
		faults = append(faults, fmt.Sprintf("README.md: %d words in %d sentences, at most %d each on average", words, sentences, readmeSentence))
	}
	return faults
}

// sentencesOf returns the sentences of a Markdown text, without code and tables. A link counts with its text. The words
// that introduce code or a list count as a sentence.
func sentencesOf(text string) (sentences []string) {
	var prose strings.Builder
	for line := range strings.Lines(fenced.ReplaceAllString(text, "\n")) {
		if notText.MatchString(line) {
			line = "\n"
		}
		prose.WriteString(line)
	}
	for _, s := range sentenceEnd.Split(linked.ReplaceAllString(prose.String(), "$1"), -1) {
		if strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") {
			sentences = append(sentences, strings.Join(strings.Fields(s), " "))
		}
	}
	return sentences
}
