package knownitem

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func TestForms(t *testing.T) {
	for _, tt := range []struct{ who, sentence, want string }{
		{"Anna", "I bought a sailing boat last summer.", "When did Anna buy a sailing boat?"},
		{"Anna", "I went to my sister's wedding two weeks ago, it was great.", "When did Anna go to their sister's wedding?"},
		{"", "On 2024-05-02 nothing.", ""},
		{"", "To reset the password, open the settings.", "How do I reset the password?"},
		{"", "Use the canary script to verify a rollout.", "How do I verify a rollout?"},
		{"", "The breaker is open because five calls have failed.", "Why is the breaker open?"},
		{"", "When the lamp goes out, the keeper lights it.", "What happens when the lamp goes out?"},
		{"", "Writes wait if the disk is full.", "What happens when the disk is full?"},
		{"", "The write-ahead log is a file of changes.", "What is the write-ahead log?"},
		{"", "Petrel is the boat of the keeper.", "What is the boat of the keeper?"},
		{"", "The gateway must never cache tokens.", "Must the gateway cache tokens?"},
		{"", "Index reads the files that have changed.", "What reads the files that have changed?"},
		{"Tomas", "Loved seeing the puppet theatre!", "What did Tomas say about the puppet theatre?"},
		{"", "It's amazing how a walk can help.", ""},
		{"", "Wonderful!", ""},
	} {
		got := ""
		for _, ask := range forms {
			if got = ask(tt.who, tt.sentence); got != "" {
				break
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q: got %q, want %q", tt.who, tt.sentence, got, tt.want)
		}
	}
}

func TestSentences(t *testing.T) {
	for in, want := range map[string][]string{
		"One. Two! Three?":                          {"One.", "Two!", "Three?"},
		"See e.g. Section 2. It costs 1.5 euros.":   {"See e.g. Section 2.", "It costs 1.5 euros."},
		"Dr. Who met J. Smith at 5 p.m. today. Yes": {"Dr. Who met J. Smith at 5 p.m. today.", "Yes"},
		"これは文です。次の文です。":                             {"これは文です。", "次の文です。"},
		"":    nil,
		"...": {"..."},
	} {
		if got := sentences(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestVerbForms(t *testing.T) {
	for past, want := range map[string]string{"bought": "buy", "stopped": "stop", "tried": "try", "created": "create", "opened": "open",
		"saved": "save", "merged": "merge", "called": "call", "visited": "visit", "house": "", "red": "", "was": ""} {
		got, ok := infinitive(past)
		if ok != (want != "") || ok && got != want {
			t.Errorf("infinitive(%q) = %q, %v, want %q", past, got, ok, want)
		}
	}
	for _, tt := range []struct{ base, ending, want string }{{"stop", "ed", "stopped"}, {"carry", "s", "carries"}, {"fetch", "s", "fetches"},
		{"set up", "ed", "set up"}, {"look up", "ing", "looking up"}, {"erase", "ing", "erasing"}, {"child", "s", "children"}, {"open", "", "open"}, {"begin", "ed", "began"}} {
		if got := inflect(tt.base, tt.ending); got != tt.want {
			t.Errorf("inflect(%q, %q) = %q, want %q", tt.base, tt.ending, got, tt.want)
		}
	}
}

func TestReplace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for w, want := range map[string][]string{"removes": {"deletes", "erases", "drops"}, "directories": {"folders"}, "started": {"launched", "began", "kicked off"},
		"always": {"constantly"}, "likeness": {"similarity", "closeness"}, "zebra": {""}} {
		for range 20 {
			if got := replace(w, rng); !slices.Contains(want, got) {
				t.Errorf("%q became %q, want one of %q", w, got, want)
			}
		}
	}
}

func TestSynonymTable(t *testing.T) {
	words, seen := 0, map[string]bool{}
	for line := range strings.Lines(synonymLines) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := strings.Fields(line)
		if len(group) < 2 {
			t.Errorf("%q: a word has no synonym", line)
		}
		for _, w := range group {
			if words++; seen[w] || w != strings.ToLower(w) {
				t.Errorf("%q stands twice, or in capitals", w)
			}
			seen[w] = true
		}
	}
	if words < 300 {
		t.Errorf("%d words", words)
	}
}

func TestMask(t *testing.T) {
	const doc = "// Wait blocks.\n// It returns at the end."
	for name, tt := range map[string]struct{ heading, text, hidden, wantHeading, wantText string }{
		"markdown":         {"a.md › Guide › Retry policy", "## Retry policy\n\nTry the Retry policy again.", "Retry policy", "a.md › Guide", "Try the Retry policy again."},
		"title":            {"Retry policy", "Four times.", "Retry policy", "", "Four times."},
		"joined":           {"a.md › One · Two", "# One\nx\n# Two\ny", "One", "a.md", "x\n# Two\ny"},
		"subject":          {"commit: store: hold the lease", "store: hold the lease\n\nBody.", "store: hold the lease", "", "Body."},
		"shortened":        {"commit: store: hold the lease until it is o…", "store: hold the lease until it is over\n\nBody.", "store: hold the lease until it is over", "", "Body."},
		"comment":          {"a.go › func Wait", doc + "\nfunc Wait() {}", doc, "a.go › func Wait", "func Wait() {}"},
		"one line comment": {"a.go › func Wait", "// Wait blocks.\nfunc Wait() {}", "// Wait blocks.", "a.go › func Wait", "func Wait() {}"},
		"nothing":          {"a", "b", "", "a", "b"},
	} {
		q := Question{Want: "1", Hidden: tt.hidden}
		c := ken.Claim{ID: "1", Heading: tt.heading, Text: tt.text}
		got := q.Mask(c)
		if got.Heading != tt.wantHeading || got.Text != tt.wantText || c.Heading != tt.heading {
			t.Errorf("%s: %q, %q", name, got.Heading, got.Text)
		}
		if c.ID = "2"; q.Mask(c).Text != tt.text {
			t.Errorf("%s: another claim was masked", name)
		}
	}
}

func TestDocComment(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"go":       {"// Wait blocks until it is over. More.\nfunc Wait() {}", "blocks until it is over"},
		"python":   {"def wait(x):\n    \"\"\"Block until it is over.\n\n    More.\"\"\"\n    return x", "Block until it is over"},
		"java":     {"/**\n * Blocks until it is over.\n */\nvoid wait() {}", "Blocks until it is over"},
		"shell":    {"# Block until it is over\nwait", "Block until it is over"},
		"none":     {"func Wait() {}", ""},
		"unclosed": {"x = \"\"\"never", ""},
	} {
		got, hidden := docComment(&ken.Claim{Text: tt.text, Entities: []string{"Wait"}})
		if got != tt.want || !strings.Contains(tt.text, hidden) {
			t.Errorf("%s: %q, hides %q", name, got, hidden)
		}
	}
}

// For any text, the rules neither panic nor hide an answer that does not exist.
func FuzzRules(f *testing.F) {
	f.Add("a.md › Retry", "## Retry\n\nTo reset it, open the lid. I bought it last week because it is red.", "repository", "a.md")
	f.Add("", "Anna: I went home yesterday! [image: a cat]", "", "")
	f.Add("a.py › def f", "def f():\n  \"\"\"Do it.\"\"\"\n  return [x for x in y]", "repository", "a.py")
	f.Add("commit: x: y", "x: y\n\nFiles: a, b", "git", "")
	f.Add("…", "。！？", "", "")
	f.Fuzz(func(t *testing.T, heading, text, source, path string) {
		claim := ken.Claim{ID: "1", Kind: ken.KindFact, Heading: heading, Text: text, SourceType: source}
		if path != "" {
			claim.Evidence = []ken.Evidence{ken.FromFile(path, "", "")}
		}
		c := newCollection(&Options{N: 1})
		c.add(&claim, true)
		c.read = 2 // so that words have a weight
		for k, ask := range rules {
			q, hidden := ask(c, &claim, c.rng("1", k))
			if q == "" {
				continue
			}
			if k != KindHeading && hidden != "" {
				t.Errorf("%s hides %q", k, hidden)
			}
			if k == KindHeading && !strings.Contains(heading+"\n"+text, hidden) {
				t.Errorf("hides %q, which is not there", hidden)
			}
		}
	})
}
