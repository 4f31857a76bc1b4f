package retriever

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// originPrior is what a record's words and likeness count by the kind of file that it was cut
// from, where the question does not ask for another kind. A test, an example or a changelog
// has the words of a question more often than the code that answers it. Chosen on 45
// questions about five repositories: docs/decisions/0035.
var originPrior = [analysis.Origins]float64{
	analysis.OriginNone: 1, analysis.OriginCode: 1, analysis.OriginDocument: 0.75, analysis.OriginSettings: 0.6,
	analysis.OriginTest: 0.4, analysis.OriginExample: 0.5, analysis.OriginChangelog: 0.4, analysis.OriginCommit: 0.4,
}

// originCues are what a question says that asks for another kind of file than code.
var originCues = []struct {
	origins []analysis.Origin
	words   []string
}{
	{[]analysis.Origin{analysis.OriginTest}, []string{"tests", "tested", "unit test", "test case", "test cases", "test suite", "test for", "test coverage",
		"covered by", "fixture", "fixtures", "benchmark", "benchmarks"}},
	{[]analysis.Origin{analysis.OriginChangelog, analysis.OriginCommit}, []string{"changelog", "release notes", "which version", "what version", "which release", "since when",
		"when was", "when were", "when did", "what changed", "what has changed", "who changed", "who wrote", "who added", "last changed", "introduced", "deprecated",
		"commit", "commits", "git history", "history of", "regression", "recently", "breaking change", "breaking changes", "renamed", "removed"}},
	{[]analysis.Origin{analysis.OriginExample, analysis.OriginDocument}, []string{"example", "examples", "sample", "demo", "show me how", "tutorial"}},
	{[]analysis.Origin{analysis.OriginDocument}, []string{"documentation", "documented", "docs", "readme", "manual", "guide", "decision", "decisions", "adr", "why did we", "license"}},
	{[]analysis.Origin{analysis.OriginSettings}, []string{"config file", "configuration file", "settings file", "workflow", "workflows", "dockerfile", "makefile", "github actions",
		"ci", "pipeline", "dependency", "dependencies", "package.json", "pyproject", "go.mod", "build script", "lint", "linter"}},
}

// originsOf returns what each kind of file counts for a question.
func originsOf(question string) [analysis.Origins]float64 {
	out := originPrior
	text := " " + strings.Join(strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9' && r < 'a' || r > 'z') && r < 0x80
	}), " ") + " "
	for _, cue := range originCues {
		for _, w := range cue.words {
			if strings.Contains(text, " "+w+" ") || strings.Contains(text, " "+w+". ") {
				for _, o := range cue.origins {
					out[o] = 1
				}
				break
			}
		}
	}
	return out
}
