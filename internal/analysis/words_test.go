package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitIdentifier(t *testing.T) {
	for in, want := range map[string][]string{
		"":                  {},
		"__":                {},
		"word":              {"word"},
		"camelCase":         {"camel", "case"},
		"HTTPServer":        {"http", "server"},
		"parseJSON":         {"parse", "json"},
		"userIDs":           {"user", "ids"},
		"IDs":               {"ids"},
		"getIDsOf":          {"get", "ids", "of"},
		"X":                 {"x"},
		"aB":                {"a", "b"},
		"max_results2":      {"max", "results", "2"},
		"SCREAMING_SNAKE":   {"screaming", "snake"},
		"kebab-case":        {"kebab", "case"},
		"store/bolt/log.go": {"store", "bolt", "log", "go"},
		"ken::Claim<T>":     {"ken", "claim", "t"},
		"ÉtatCivil":         {"etat", "civil"},
		"get名前":             {"get名前"},
		"a\xffb":            {"a", "b"},
	} {
		if diff := cmp.Diff(want, SplitIdentifier(in)); diff != "" {
			t.Errorf("SplitIdentifier(%q) (-want +got):\n%s", in, diff)
		}
	}
}

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "running": "run", "ran": "run", "policies": "polici", "went": "go", "women": "woman",
		"bit": "bit", "lives": "live", "naïve": "naïve", "utf8": "utf8", "don't": "don't",
	} {
		if got := Stem(in); got != want {
			t.Errorf("Stem(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIsStopWord(t *testing.T) {
	for _, w := range []string{"the", "is", "when", "my", "of", "would"} {
		if !IsStopWord(w) {
			t.Errorf("%q is no stop word", w)
		}
	}
	for _, w := range []string{"", "not", "no", "will", "may", "up", "while", "without", "all", "The"} {
		if IsStopWord(w) {
			t.Errorf("%q is a stop word", w)
		}
	}
}
