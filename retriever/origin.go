package retriever

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// originPrior is the factor on a record's words and likeness by the kind of file it comes from, if
// the question asks for no kind. Tests, examples and changelogs contain the words of a question
// more often than the code that answers it. Chosen on 103 questions about five repositories:
// docs/decisions/0035.
var originPrior = [analysis.Origins]float64{
	analysis.OriginNone: 1, analysis.OriginCode: 1, analysis.OriginDocument: 0.75, analysis.OriginSettings: 0.6,
	analysis.OriginTest: 0.4, analysis.OriginExample: 0.5, analysis.OriginChangelog: 0.4, analysis.OriginCommit: 0.4,
}

// originCue has phrases in questions that ask for kinds of files other than code.
type originCue struct {
	origins []analysis.Origin
	phrases []string // each with a space before and after it
}

func cue(phrases string, origins ...analysis.Origin) originCue {
	c := originCue{origins: origins}
	for p := range strings.SplitSeq(phrases, ",") {
		c.phrases = append(c.phrases, " "+strings.TrimSpace(p)+" ")
	}
	return c
}

var originCues = []originCue{
	cue("tests, tested, unit test, test case, test cases, test suite, test for, test coverage, covered by, fixture, fixtures, benchmark, benchmarks", analysis.OriginTest),
	cue("changelog, release notes, which version, what version, which release, since when, when was, when were, when did, what changed, what has changed, who changed, "+
		"who wrote, who added, last changed, introduced, deprecated, commit, commits, git history, history of, regression, recently, breaking change, breaking changes, "+
		"renamed, removed", analysis.OriginChangelog, analysis.OriginCommit),
	cue("example, examples, sample, demo, show me how, tutorial", analysis.OriginExample, analysis.OriginDocument),
	cue("documentation, documented, docs, readme, manual, guide, decision, decisions, adr, why did we, license", analysis.OriginDocument),
	cue("config file, configuration file, settings file, workflow, workflows, dockerfile, makefile, github actions, ci, pipeline, dependency, dependencies, "+
		"package.json, pyproject, go.mod, build script, lint, linter", analysis.OriginSettings),
}

// declaresPrior is the factor on a piece of code that only declares something, such as a type, if
// the question asks how, where or why something happens. Names of types and constants contain the
// words of such questions, but functions answer them. Chosen on the 114 questions of ten
// repositories, where 0.5 to 0.7 work equally well.
const declaresPrior = 0.6

// stubPrior is the factor on a declaration whose code is in another file, such as index.d.ts beside
// index.js, unless the question asks for types. Chosen on the 813 questions of 45 repositories with an
// answer: names found among the first three 87.7 → 88.7 %, other answers 56.6 → 57.1 %. 0.3 to 0.6
// work about equally well.
const stubPrior = 0.45

// fileLikeness is how much a cosine of 1 counts for a piece of a file, relative to a keyword score
// of 1. It replaces trustInCosines and compareNear, which are meant for what people say. 0.7 to 1
// work equally well: docs/decisions/0046.
const fileLikeness = 0.85

// originPriors holds the factors of each kind of file for one question.
type originPriors struct {
	kinds    [analysis.Origins]float64
	declares float64 // of a piece of code that only declares
	stub     float64 // of a declaration whose code is elsewhere
}

func (p *originPriors) of(t analysis.Traits) float64 {
	if t.Stub() {
		return p.stub
	}
	if t.Declares() {
		return p.declares
	}
	return p.kinds[t.Origin()]
}

var (
	actionCue      = cue("how, where, why, what happens, which order, what order")
	declarationCue = cue("type, types, interface, interfaces, struct, structs, enum, enums, constant, constants, field, fields, option, options, defined, declared, definition, declaration, signature")
)

func (c *originCue) in(text string) bool {
	return slices.ContainsFunc(c.phrases, func(p string) bool { return strings.Contains(text, p) })
}

func originsOf(question string) *originPriors {
	out := originPriors{kinds: originPrior, declares: 1, stub: 1}
	text := spaced(question)
	for i := range originCues {
		c := &originCues[i]
		if c.in(text) {
			for _, o := range c.origins {
				out.kinds[o] = 1
			}
		}
	}
	if actionCue.in(text) && !declarationCue.in(text) {
		out.declares = declaresPrior
	}
	if !declarationCue.in(text) {
		out.stub = stubPrior
	}
	return &out
}

// spaced returns a question in lower case, with one space around each word. A full stop, a hyphen
// or an underscore inside a word is part of it.
func spaced(question string) string {
	var b strings.Builder
	b.Grow(len(question) + 2)
	b.WriteByte(' ')
	for word := range strings.FieldsFuncSeq(strings.ToLower(question), func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9' && r < 'a' || r > 'z') && r < 0x80
	}) {
		if word = strings.Trim(word, ".-_"); word != "" {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	return b.String()
}
