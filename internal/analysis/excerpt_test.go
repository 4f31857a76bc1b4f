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

// documented has its terms more often in the documentation than in the code.
const documented = `def retry(self, exc=None, limit=None,
          countdown=None):
    """Send the job again.

    Example:
        job.retry(limit=3)

    Arguments:
        limit (int): The limit of retries. None means no limit, so that
            retries never end. A limit of 0 means no retries.
        exc (Exception): What is raised at the limit of retries.
        countdown (float): Seconds until the job is sent again.
    """
    request = self.request
    if request.local:
        raise Local(request)
    if limit is not None and request.retries > limit:
        log.info("given up", extra=request)
        self.backend.mark(request.id)
        self.backend.forget(request.id)
        self.events.send("gave-up", request.id)
        raise GivenUp(request.retries)
    self.send(request, countdown)
    return request
`

func TestExcerptPrefersCodeToItsDocumentation(t *testing.T) {
	got := Excerpt(documented, Terms("where is the limit of retries checked?"), 420)
	for _, want := range []string{"countdown=None):\n    \"\"\"Send the job again.", "request.retries > limit:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestExcerptShowsTheStatementAroundALine(t *testing.T) {
	text := strings.Replace(longFunction, "\tif tooLarge {\n", "\tif tooLarge {\n"+strings.Repeat("\t\tlog.Print(name)\n", 6), 1)
	if got := Excerpt(text, Terms("who rejects an upload?"), 280); !strings.Contains(got, "\tif tooLarge {\n"+excerptGap+"\n") || !strings.Contains(got, "rejectUpload(413)") {
		t.Error(got)
	}
}

func TestDocumentation(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"def f():\n    '''One line.'''\n    return 1", ".d."},
		{"def f():\n    r\"\"\"Two\n    lines.\"\"\"\n    return 1", ".dd."},
		{"/** A\n * b */\nvoid f() {\n/* c */\n}", "dd.d."},
		{"x = '''\nSELECT 1\n'''\ny = 1", "...."},
		{"x = f(\"\"\"a\"\"\")\ny = glob(\"a/*\")\nz", "..."},
		{"// a\nreturn \"/*\"\n# b", "..."},
		{"/* never closed\nint x;", "dd"},
	} {
		got := ""
		for _, d := range documentation(strings.Split(tt.text, "\n")) {
			got += map[bool]string{true: "d", false: "."}[d]
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}
