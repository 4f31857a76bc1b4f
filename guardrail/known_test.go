package guardrail

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
)

var markers = regexp.MustCompile(`\[redacted:[a-z0-9-]+\]`)

// marked is a text in which secrets stand between « and ».
type marked struct {
	name, text string
	secrets    []string
}

// markedTexts reads the cases of a file. Each begins with "--- " and its name. A dot in
// the middle of a line (·) stands for nothing: no scanner takes the file for a leak.
func markedTexts(t testing.TB, file string) (out []marked) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+strings.ReplaceAll(string(b), "·", ""), "\n--- ")[1:] {
		name, text, _ := strings.Cut(strings.TrimRight(part, "\n"), "\n")
		m := marked{name: name, text: strings.NewReplacer("«", "", "»", "").Replace(text)}
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, "«")
			if !ok {
				break
			}
			secret, more, _ := strings.Cut(after, "»")
			m.secrets, rest = append(m.secrets, secret), more
		}
		if len(m.secrets) == 0 {
			t.Fatalf("%s has no secret", name)
		}
		out = append(out, m)
	}
	return out
}

// inClear are the names of the cases of which a secret, or half of one, stays, and how
// many cases there are.
func inClear(t testing.TB, file string) (names []string, of int) {
	t.Helper()
	cases := markedTexts(t, file)
	for _, m := range cases {
		got, _ := Redact(m.text)
		again, _ := Redact(got)
		if again != got {
			t.Errorf("%s: a second pass makes %q of %q", m.name, again, got)
		}
		got = markers.ReplaceAllString(got, "")
		for _, s := range m.secrets {
			half, rest := len(s)/2, strings.ReplaceAll(m.text, s, "")
			part := func(p string) bool { return len(p) >= 5 && strings.Contains(got, p) && !strings.Contains(rest, p) }
			if strings.Contains(got, s) || part(s[:half]) || part(s[half:]) {
				names = append(names, m.name)
				t.Logf("in clear: %s: %q", m.name, got)
				break
			}
		}
	}
	return names, len(cases)
}

// Formats and wordings in which secrets are written down. Those of the second file were
// set aside until the rules stood. No format may fail, and of what people say two may.
func TestSecretsAsTheyAreWritten(t *testing.T) {
	clear, of := inClear(t, "secrets.txt")
	more, others := inClear(t, "secrets_heldout.txt")
	clear = append(clear, more...)
	if formats := slices.ContainsFunc(clear, func(name string) bool { return strings.HasPrefix(name, "format:") }); formats || len(clear) > 2 {
		t.Errorf("%d of %d in clear: %s", len(clear), of+others, strings.Join(clear, ", "))
	}
}

// Two hundred formats and wordings that an outsider wrote down, half and half: no format may
// fail, and of a hundred two may.
func TestSecretsAsTheyAreTyped(t *testing.T) {
	clear, of := inClear(t, "secrets_typed.txt")
	if formats := slices.ContainsFunc(clear, func(name string) bool { return strings.HasPrefix(name, "format:") }); formats || len(clear) > of/50 {
		t.Errorf("%d of %d in clear: %s", len(clear), of, strings.Join(clear, ", "))
	}
}

// falseAlarms counts what is found in files, which are taken for free of secrets.
func falseAlarms(t testing.TB, dir string, wanted func(path string) bool) (found, bytes int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".venv") || path == filepath.Join(dir, "bin") || d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".ken"):
			return filepath.SkipDir
		case d.IsDir() || !wanted(path):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(src)
		bytes += len(text)
		for _, f := range Secrets(text) {
			line := text[strings.LastIndexByte(text[:f.Start], '\n')+1:]
			line, _, _ = strings.Cut(line, "\n")
			t.Logf("%s: %s %q in %.160q", filepath.Base(path), f.Kind, text[f.Start:f.End], line)
			found++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, bytes
}

// What is found in texts about software that hold next to no secrets is mostly false.
func TestFalseAlarmsAreFew(t *testing.T) {
	all := func(string) bool { return true }
	for _, tt := range []struct {
		name string
		most int
		dir  func(testing.TB) string
		want func(string) bool
	}{
		{"this repository", 1, func(testing.TB) string { return ".." }, func(path string) bool {
			ext := filepath.Ext(path)
			return (ext == ".go" || ext == ".md" || ext == ".yaml") && !strings.HasSuffix(path, "_test.go") &&
				!strings.Contains(path, "gitleaks") && !strings.Contains(path, "genrules") // shapes of secrets
		}},
		{"adr", 0, func(t testing.TB) string { return evaldata.Dir(t, "adr") }, all},
		{"locomo", 0, func(t testing.TB) string { return evaldata.Dir(t, "locomo-dev") }, all},
		{"code", 0, func(t testing.TB) string { return evaldata.Dir(t, "cosqa-dev") }, all},
		{"session", 0, func(t testing.TB) string { return evaldata.Dir(t, "session") }, all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, bytes := falseAlarms(t, tt.dir(t), tt.want)
			if bytes == 0 {
				t.Fatal("nothing was read")
			}
			t.Logf("%d findings in %d bytes", found, bytes)
			if found > tt.most {
				t.Errorf("%d findings, want %d at most", found, tt.most)
			}
		})
	}
}
