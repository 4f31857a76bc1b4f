package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const longFunction = `// Load reads the shelf.
// It is slow.
func Load(name string) error {
	open(name)
	one()
	two()
	three()
	four()
	five()
	six()
	seven()
	eight()
	nine()
	if tooLarge {
		rejectUpload(413)
	}
	ten()
	eleven()
	twelve()
	thirteen()
	fourteen()
	fifteen()
	return nil
}`

func TestExcerptShowsTheLinesAskedFor(t *testing.T) {
	got := Excerpt(longFunction, Terms("how is a large upload rejected?"), 200)
	for _, want := range []string{"// Load reads the shelf.", "func Load(name string) error {", "rejectUpload(413)", excerptGap} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "fifteen()") || utf8.RuneCountInString(got) > 200 {
		t.Errorf("%d characters:\n%s", utf8.RuneCountInString(got), got)
	}
}

func TestExcerptOfAShortTextIsTheText(t *testing.T) {
	if got := Excerpt(longFunction, []string{"upload"}, 1000); got != longFunction {
		t.Error(got)
	}
}

// Without a term the beginning is shown.
func TestExcerptWithoutTermsIsTheBeginning(t *testing.T) {
	if got := Excerpt(longFunction, Terms("zebra"), 120); !strings.HasPrefix(got, "// Load reads the shelf.\n// It is slow.\nfunc Load") {
		t.Error(got)
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add(longFunction, "large upload", 120)
	f.Add("a\n\n\nb", "b", 3)
	f.Add("/* a\n * b\n */\nfunc c() {\n}\n", "c", 9)
	f.Fuzz(func(t *testing.T, text, question string, most int) {
		most = 40 + max(most, -most)%500
		got := Excerpt(text, Terms(question), most)
		if strings.Count(text, "\n") < 2 {
			return
		}
		if n := utf8.RuneCountInString(got); n > most && got != text {
			t.Fatalf("%d characters, more than %d: %q", n, most, got)
		}
		for l := range strings.SplitSeq(got, "\n") {
			if l != excerptGap && !strings.Contains(text, l) {
				t.Fatalf("%q is no line of %q", l, text)
			}
		}
	})
}
