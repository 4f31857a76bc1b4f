package finding

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// shown returns the text that a tool's result shows: out of JSON, without the
// reminders and frames that agents put around it, and without line numbers.
func shown(output string) string {
	text := strings.TrimSpace(output)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		if inner, ok := unwrapped(text); ok {
			text = inner
		}
	}
	text = reminders.ReplaceAllString(text, "")
	text = leading.ReplaceAllString(text, "")
	return unnumbered(text)
}

var (
	reminders = lazyregexp.New(`(?s)<(system-reminder|environment_details|system_warning)>.*?(</(?:system-reminder|environment_details|system_warning)>|\z)`)
	leading   = lazyregexp.New(`\A(?:\s*(?:<(?:file|content|path|result|output|files)>[^\n]{0,300}(?:</path>)?|Here's the result of running .*|File: .*|Lines? \d+.*|Contents of .*|Chunk ID: .*|Wall time: .*|Process exited with code .*|` +
		`Exit code: .*|Original token count: .*|Total output lines: .*|Output:|--- \S+ ---)(?:\n|\z))+`)
)

// unwrapped returns the text within a structured result.
func unwrapped(text string) (string, bool) {
	if !gjson.Valid(text) {
		return "", false
	}
	v := gjson.Parse(text)
	if v.IsArray() {
		v = gjson.Parse(`{"content":` + text + `}`)
	}
	for _, k := range []string{"content", "text", "output", "stdout", "result", "file_content", "data"} {
		switch t := v.Get(k); {
		case t.Type == gjson.String:
			return t.Str, true
		case t.IsArray() && t.Get("0.text").Exists():
			var parts []string
			t.ForEach(func(_, p gjson.Result) bool {
				parts = append(parts, p.Get("text").String())
				return true
			})
			return strings.Join(parts, "\n"), true
		}
	}
	return "", false
}

var lineNumber = lazyregexp.New(`^\s{0,8}L?\d{1,7}(?:→|\t| ?\| ?|: ?| {2})`)

// unnumbered drops the line numbers in front of most lines.
func unnumbered(text string) string {
	lines := strings.Split(text, "\n")
	full, numbered := 0, 0
	for _, l := range lines[:min(len(lines), 60)] {
		if strings.TrimSpace(l) == "" {
			continue
		}
		full++
		if lineNumber.MatchString(l[:min(len(l), 24)]) {
			numbered++
		}
	}
	if numbered*5 < full*4 || numbered == 0 {
		return text
	}
	for i, l := range lines {
		if n := len(lineNumber.FindString(l[:min(len(l), 24)])); n > 0 {
			lines[i] = strings.TrimSuffix(l[n:], "\r")
		}
	}
	return strings.Join(lines, "\n")
}

// oneLine joins white space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip shortens text to n characters, at a word where one ends near.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)[:n-1]
	cut := string(r)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*3/4 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
