package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/race"
)

// TestDocs runs the snippets of docs as they stand there: those of a page one after the other,
// in one project. Where testdata/docs has a txtar file of the page's name, the project begins
// with its files, and the commands of its comment have run.
//
// A text below a snippet, or the lines of a console block without a $, are what it prints: "…"
// stands for anything. A snippet may fail if what it prints has a line with "Try:". In a page,
//
//	<!-- not run: REASON -->
//	<!-- file: NAME -->
//
// above a snippet leave it out, and put it into a file of the project before the page begins.
func TestDocs(t *testing.T) {
	race.SkipLong(t)
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	for _, path := range pages {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "cli" { // TestReferenceExamples
			continue
		}
		if indented := indentedPattern.FindString(fencePattern.ReplaceAllString(string(b), "")); indented != "" {
			t.Errorf("docs/%s.md: a snippet needs a fence and a language, so that it is run: %s", name, strings.TrimSpace(indented))
		}
		if snippets := readSnippets(string(b)); len(snippets) > 0 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				follow(t, name, snippets)
			})
		}
	}
}

type snippet struct {
	line           int
	mark, what     string // "not run" and the reason, or "file" and its name
	language, text string
}

var (
	snippetPattern  = regexp.MustCompile("(?ms)(?:^<!-- (not run|file): ([^\n]*?) -->\n)?^```(\\w*)\n(.*?)^```$")
	fencePattern    = regexp.MustCompile("(?ms)^```.*?^```$")
	indentedPattern = regexp.MustCompile(`\n\n {4}\S.*`)
)

func readSnippets(page string) (out []snippet) {
	for _, m := range snippetPattern.FindAllStringSubmatchIndex(page, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return page[m[2*i]:m[2*i+1]]
		}
		out = append(out, snippet{1 + strings.Count(page[:m[6]], "\n"), group(1), group(2), group(3), group(4)})
	}
	return out
}

func follow(t *testing.T, page string, snippets []snippet) {
	r := newReader(t)
	if a, err := txtar.ParseFile(filepath.Join("testdata", "docs", page+".txtar")); err == nil {
		for _, f := range a.Files {
			r.writes(t, f.Name, string(f.Data))
		}
		if len(a.Comment) > 0 {
			r.follows(t, string(a.Comment), false)
		}
	}
	for _, s := range snippets {
		for _, program := range []string{"curl", "openssl"} {
			if _, err := exec.LookPath(program); err != nil && s.mark == "" && strings.Contains(s.text, program+" ") {
				t.Skip(program + " is not installed")
			}
		}
		if s.mark == "file" {
			r.writes(t, s.what, s.text)
		}
	}
	printed, from := "", "" // of the snippet before, and its language
	for i, s := range snippets {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("docs/%s.md:%d: %s", page, s.line, fmt.Sprintf(format, args...))
		}
		mayFail := i+1 < len(snippets) && snippets[i+1].language == "text" && strings.Contains(snippets[i+1].text, "Try:")
		switch {
		case s.mark == "not run":
			t.Logf("docs/%s.md:%d is not run: %s", page, s.line, s.what)
			from = s.mark
			continue
		case s.language == "text":
			if from == "sh" {
				if missing := r.lacks(printed, s.text); missing != "" {
					fail("it does not print\n%s\nbut\n%s", missing, r.alike(printed))
				}
			}
			continue
		case s.language == "" || s.language == "python" || s.language == "ts":
			// A drawing, or a snippet that internal/clients runs.
		case s.language == "yaml":
			if err := readYAML(s.text); err != nil {
				fail("%v", err)
			}
		case s.language == "json":
			if err := readJSON(s.text); err != nil {
				fail("%v: %s", err, s.text)
			} else if strings.Contains(s.text, "mcpServers") {
				r.configures(t, s.text)
			}
		case s.language == "go":
			if !inExamples(t, s.text) {
				fail("no program below examples has these lines: %s", s.text)
			}
		case s.language == "sh":
			printed = r.follows(t, s.text, mayFail)
		case s.language == "console":
			commands, output := readConsole(s.text)
			printed = r.follows(t, commands, strings.Contains(output, "Try:"))
			if missing := r.lacks(printed, output); missing != "" {
				fail("it does not print\n%s\nbut\n%s", missing, r.alike(printed))
			}
		default:
			fail("nothing runs a snippet in %s", s.language)
		}
		from = s.language
		if t.Failed() {
			t.Fatalf("it failed at docs/%s.md:%d", page, s.line)
		}
	}
}

func (r *reader) writes(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.project, name)
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		path = filepath.Join(r.home, below)
	}
	if err := writeTestFile(path, text); err != nil {
		t.Fatal(err)
	}
}

// snippetWaits is the longest that a snippet runs: all pages run beside each other.
const snippetWaits = 2 * time.Minute

// follows runs a snippet. A line that starts ken serve goes on until the test ends, beside what
// follows.
func (r *reader) follows(t *testing.T, text string, mayFail bool) (printed string) {
	t.Helper()
	var script strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "ken serve") || strings.HasPrefix(line, "ken serve key") {
			script.WriteString(line)
			continue
		}
		printed += r.serves(t, line)
	}
	if script.Len() == 0 {
		return printed
	}
	p := r.starts(t, script.String())
	p.types(strings.Repeat("y\n", strings.Count(text, "\n"))) // yes to whatever is asked
	late := time.AfterFunc(snippetWaits, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	b, _ := io.ReadAll(p.terminal) // up to the error that the end is
	if err := p.cmd.Wait(); err != nil && !mayFail {
		t.Errorf("%v: %s\nprints %s", err, text, b)
	}
	return printed + string(b)
}

// readConsole takes the commands of a console block from what they print.
func readConsole(text string) (commands, output string) {
	var c, o strings.Builder
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			c.WriteString(command)
		} else if strings.HasPrefix(line, "  ") && o.Len() == 0 && strings.HasSuffix(c.String(), "\\\n") {
			c.WriteString(line)
		} else {
			o.WriteString(line)
		}
	}
	return c.String(), o.String()
}

var changing = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\r`), ""},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:8484"},
	{regexp.MustCompile(`\[k:\w+\]`), "[k:ID]"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f-]{27}\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:]+Z?)?`), "DATE"},
	{regexp.MustCompile(`\b\d+ (January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"},
	{regexp.MustCompile(`process \d+`), "process N"},
	{regexp.MustCompile(`\bken_[0-9A-Za-z_-]{30,}`), "KEY"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|µs|s)\b`), "SPAN"},
	{regexp.MustCompile(`\bdur=[\d.]+`), "dur=N"},
	{regexp.MustCompile(`\b\d+\.\d{3}\b`), "SCORE"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// alike replaces the paths and the addresses of a run by those of a user called ana.
func (r *reader) alike(text string) string {
	text = strings.NewReplacer(r.project, "/home/ana/shop", r.home, "/home/ana", r.upstream, "https://api.openai.com").Replace(text)
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.as)
	}
	return text
}

// lacks returns the first part of want that printed has not, or "".
func (r *reader) lacks(printed, want string) string {
	printed = r.alike(printed)
	for part := range strings.SplitSeq("\n"+r.alike(want), "\n…\n") {
		part = strings.Trim(part, "\n")
		_, after, ok := strings.Cut(printed, part)
		if !ok {
			return part
		}
		printed = after
	}
	return ""
}

// readYAML reads a configuration, or a part of one, with all checks of Ken, and any other YAML
// as that.
func readYAML(text string) error {
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(text), &keys); err != nil {
		var list []any
		return yaml.Unmarshal([]byte(text), &list)
	}
	for key, value := range keys {
		if _, plain := value.(string); plain { // no section is
			continue
		}
		if slices.ContainsFunc(config.Keys(), func(k string) bool { return strings.HasPrefix(k, key+".") || k == key }) {
			_, err := config.Parse([]byte(text))
			return err
		}
	}
	return nil
}

// readJSON reads one value or several.
func readJSON(text string) error {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// inExamples reports whether a program below examples has these lines, in this order and together.
// Its tests run them.
func inExamples(t *testing.T, text string) bool {
	t.Helper()
	flat := func(text string) string { return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(text, "") }
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains("\n"+flat(string(b)), "\n"+flat(text))
	})
}

// TestReferenceExamples parses every command of docs/cli.md, flags and arguments included.
func TestReferenceExamples(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range readSnippets(string(b)) {
		for line := range strings.Lines(strings.ReplaceAll(s.text, "\\\n", "")) {
			words := commandWords(line)
			if len(words) == 0 || words[0] != "ken" {
				continue
			}
			n++
			c, rest, err := newRoot(&cli.App{}).Find(words[1:])
			if err == nil {
				err = parseExample(c, rest)
			}
			if err != nil {
				t.Errorf("docs/cli.md: %s: %v", strings.TrimSpace(line), err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}

func parseExample(c *cobra.Command, args []string) error {
	if c.DisableFlagParsing {
		return nil
	}
	if err := c.ParseFlags(args); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// commandWords splits the last command of a pipe as a shell does, as far as the examples need it.
func commandWords(line string) (words []string) {
	if i := strings.LastIndex(line, "| ken "); i >= 0 {
		line = line[i+2:]
	}
	for _, m := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+)`).FindAllStringSubmatch(line, -1) {
		word := m[1] + m[2] + m[3]
		if m[3] != "" && (strings.HasPrefix(word, "#") || strings.HasPrefix(word, ">") || strings.HasPrefix(word, "<") || word == "&&" || word == "|") {
			break
		}
		words = append(words, word)
	}
	return words
}
