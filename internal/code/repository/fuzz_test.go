package repository

import (
	"bytes"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func addGolden(f *testing.F, pattern string) {
	files, err := filepath.Glob(filepath.Join("testdata/cut", pattern))
	if err != nil || len(files) == 0 {
		f.Fatal(pattern, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint16(160))
	}
}

func fuzzChunks(f *testing.F, name string) {
	f.Fuzz(func(t *testing.T, text string, size uint16) {
		text = strings.ToValidUTF8(text, "\uFFFD") // anything else is skipped before it is cut
		checkChunks(t, name, text, newLimits(smallestMaxChunk+int(size%2000), int(size%80)))
	})
}

func FuzzMarkdown(f *testing.F) {
	addGolden(f, "*.md")
	f.Add("a\n-\nb\n=\n```\n# c\n", uint16(0))
	fuzzChunks(f, "x.md")
}

func FuzzGo(f *testing.F) {
	addGolden(f, "*.go.txt")
	f.Add("package x; import \"y\"; /* a\n*/ var b, _ = 1, 2 // c\n// d", uint16(0))
	fuzzChunks(f, "x.go")
}

func FuzzBlocks(f *testing.F) {
	addGolden(f, "*.py")
	addGolden(f, "*.yaml")
	fuzzChunks(f, "x.py")
}

func FuzzProse(f *testing.F) {
	addGolden(f, "*.txt")
	fuzzChunks(f, "x.txt")
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte("\x01a1\x001795242564\x00two\x00\x00\x00\nb\x00\x01c9\x001795242564\x00one\x00body\ntwo\n\x00\x00\na\x00"))
	f.Add([]byte("\x01a1\x00x\x00\x00\x00\x00\x01c9\x00-9999999999999999\x00\xff\x00Signed-off-by: x\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		seen := map[string]bool{}
		err := parseLog(bytes.NewReader(out), []string{"a1", "c9"}, func(c commit) error {
			if seen[c.sha] || c.sha != "a1" && c.sha != "c9" {
				t.Errorf("commit %q: not asked for, or twice", c.sha)
			}
			seen[c.sha] = true
			for _, s := range append(c.paths, c.subject, c.body) {
				if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x01\x1b\r") {
					t.Errorf("not clean: %q", s)
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errLogFormat) {
			t.Errorf("unexpected error %v", err)
		}
	})
}

// FuzzGlob compares with path.Match where the two notations agree.
func FuzzGlob(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("[a-c]*", "bx")
	f.Add("***a***", "a")
	f.Fuzz(func(t *testing.T, pat, s string) {
		got := globMatch(pat, s)
		if strings.ContainsAny(pat, `[\/`) || strings.Contains(s, "/") || !ascii(pat+s) {
			return
		}
		if want, err := path.Match(pat, s); err == nil && got != want {
			t.Errorf("globMatch(%q, %q) = %v", pat, s, got)
		}
	})
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
