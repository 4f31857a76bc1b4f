package finding

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxSentence is the maximum length of a sentence that is taken from a file, in
// characters.
const maxSentence = 160

// describe says what a file is, by its name and the part of it that was read: what
// it declares, and the first sentence that it says about itself. It returns "" for
// a file without a description; the content itself is not knowledge.
func describe(name, text string) string {
	base, ext := path.Base(name), strings.ToLower(path.Ext(name))
	if utf8.RuneCountInString(text) < 16 || strings.ContainsRune(text, 0) {
		return ""
	}
	if d, ok := manifests[base]; ok {
		return d(text)
	}
	switch {
	case ext == ".go":
		return describeGo(name, text)
	case ext == ".md" || ext == ".mdx" || ext == ".rst" || ext == ".adoc":
		return describeProse(text)
	case strings.HasPrefix(base, "Dockerfile") || ext == ".dockerfile":
		return describeDockerfile(text)
	case strings.HasPrefix(base, "requirements") && ext == ".txt":
		return listed("Python requirements", requirementNames(text), 8)
	case ext == ".yaml" || ext == ".yml":
		return describeYAML(text)
	case ext == ".toml" || ext == ".ini" || ext == ".cfg":
		return listed("configuration with the sections", captures(tomlSection, text, 8), 8)
	case ext == ".json":
		return listed("JSON with the keys", captures(jsonKey, text, 8), 8)
	case ext == ".sql":
		return listed("SQL that makes", captures(sqlObject, text, 8), 8)
	case ext == ".proto":
		return listed("protocol buffers: declares", captures(protoName, text, 8), 8)
	case ext == ".csv" || ext == ".log" || ext == ".lock" || ext == ".sum" || ext == ".txt":
		return ""
	}
	return describeCode(name, text)
}

var (
	tomlSection = lazyregexp.New(`(?m)^\[\[?([\w.\-" ]+)\]\]?\s*$`)
	jsonKey     = lazyregexp.New(`(?m)^(?:\t| {1,4})"([\w.@/-]{1,60})"\s*:`)
	sqlObject   = lazyregexp.New(`(?im)^\s*create\s+(?:or\s+replace\s+)?(?:unique\s+)?((?:table|view|index|function|type|trigger)\s+(?:if\s+not\s+exists\s+)?[\w."]+)`)
	protoName   = lazyregexp.New(`(?m)^\s*((?:service|message|enum|rpc)\s+\w+)`)
	goPackage   = lazyregexp.New(`(?m)^package (\w+)\s*(?://.*)?$`)
	boilerplate = lazyregexp.New(`(?i)copyright|licen[cs]e|spdx|all rights reserved|eslint|prettier|@ts-|go:build|\+build|go:generate|nolint|coding:|frozen_string|use strict|shellcheck|vim:|code generated|pragma`)
)

func describeGo(name, text string) string {
	kind := "Go"
	if m := goPackage.FindStringSubmatchIndex(text); m != nil {
		kind = "Go package " + text[m[2]:m[3]]
		if doc := comment(text[:m[0]]); doc != "" {
			return join(declares(kind, name, text), doc)
		}
	}
	return declares(kind, name, text)
}

func describeCode(name, text string) string {
	what := declares(languages[strings.ToLower(path.Ext(name))], name, text)
	if doc := comment(text); doc != "" {
		return join(what, doc)
	}
	if m := docstring.FindStringSubmatch(text); m != nil {
		return join(what, sentence(m[1]))
	}
	return what
}

var docstring = lazyregexp.New(`(?s)\A(?:#[^\n]*\n|\s)*(?:"""|''')(.{8,}?)(?:"""|'''|\z)`)

var languages = map[string]string{".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript", ".rs": "Rust",
	".java": "Java", ".kt": "Kotlin", ".rb": "Ruby", ".php": "PHP", ".cs": "C#", ".c": "C", ".h": "C", ".cpp": "C++", ".hpp": "C++", ".swift": "Swift", ".scala": "Scala", ".sh": "shell script"}

// declares lists what a piece of code defines, exported names first.
func declares(kind, name, text string) string {
	defs := analysis.Definitions(text)
	var names []string
	for _, upper := range []bool{true, false} {
		for _, d := range defs {
			if r, _ := utf8.DecodeRuneInString(d); unicode.IsUpper(r) == upper {
				names = append(names, d)
			}
		}
	}
	if len(names) == 0 {
		return kind
	}
	verb := "declares "
	if strings.Contains(path.Base(name), "test") || strings.Contains(path.Base(name), "spec.") {
		verb = "tests, "
	}
	if kind != "" {
		kind += ", "
	}
	return kind + verb + strings.Join(names[:min(len(names), 6)], ", ")
}

// join appends a file's description of itself to what it is.
func join(what, doc string) string {
	switch {
	case doc == "":
		return what
	case what == "":
		return doc
	}
	return what + ". " + doc
}

// comment returns the first sentence of the first comment that is not boilerplate.
func comment(text string) string {
	var block []string
	flush := func() string {
		s := strings.Join(block, "\n")
		block = nil
		if s == "" || boilerplate.MatchString(s) {
			return ""
		}
		return sentence(s)
	}
	inside := false
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > 60 {
			break
		}
		line = strings.TrimSpace(line)
		var body string
		switch {
		case inside:
			body = strings.TrimLeft(strings.TrimSuffix(line, "*/"), "* ")
			inside = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "/*"):
			inside = !strings.Contains(line, "*/")
			body = strings.Trim(line, "/* ")
		case strings.HasPrefix(line, "//"):
			body = strings.TrimLeft(line, "/! ")
		case strings.HasPrefix(line, "#!") || strings.HasPrefix(line, "#include") || strings.HasPrefix(line, "#define"):
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, "--"):
			body = strings.TrimLeft(line, "#- ")
		default:
			if s := flush(); s != "" {
				return s
			}
			if line != "" && n > 30 {
				return ""
			}
			continue
		}
		if block = append(block, body); body == "" {
			if s := flush(); s != "" {
				return s
			}
		}
	}
	return flush()
}

// sentence returns the first sentence of a text, "" if the text does not look like
// one.
func sentence(s string) string {
	if i := strings.Index(strings.TrimSpace(s), "\n\n"); i > 0 {
		s = strings.TrimSpace(s)[:i]
	}
	s = oneLine(s)
	for i := 0; i+1 < len(s); i++ {
		if (s[i] == '.' || s[i] == '!' || s[i] == '?') && s[i+1] == ' ' && !abbreviated(s[:i]) {
			s = s[:i+1]
			break
		}
	}
	if strings.Count(s, " ") < 2 || !strings.ContainsFunc(s, unicode.IsLetter) || planted.MatchString(s) {
		return ""
	}
	return clip(s, maxSentence)
}

// planted matches a sentence that is written for a model and not for a reader.
var planted = lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines)\b`)

func abbreviated(s string) bool {
	return slices.ContainsFunc([]string{"e.g", "i.e", "etc", "vs", "cf", "Dr", "Mr", "No", "approx"}, func(a string) bool { return strings.HasSuffix(s, a) })
}

// captures returns the distinct first groups of a pattern's matches.
func captures(re *lazyregexp.Regexp, text string, limit int) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(text, 200) {
		if s := oneLine(m[1]); s != "" && !seen[s] && len(out) < limit {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func listed(what string, items []string, limit int) string {
	if len(items) == 0 {
		return ""
	}
	return what + " " + strings.Join(items[:min(len(items), limit)], ", ")
}

// shown returns the text that a tool's result shows. Text in JSON is extracted;
// reminders and frames that agents add, and line numbers, are removed.
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

// unnumbered removes line numbers if most lines have one.
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

// oneLine replaces each run of white space by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip shortens text to n characters, at the end of a word if one is near.
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

var (
	decisionFolder = lazyregexp.New(`(?i)(?:^|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?)/`)
	decisionFile   = lazyregexp.New(`(?i)^(?:adr[-_ ]?)?\d{1,5}[-_. ].*\.(?:md|mdx|rst|adoc|txt)$|^adr[-_]?\d{1,5}\.(?:md|json)$`)
	decisionNumber = lazyregexp.New(`^(?i)(?:adr[-_ ]?)?(\d{1,5})`)
	statusLine     = lazyregexp.New(`(?im)^\s*(?:[-*>]\s*)?(?:\**_*status_*\**\s*:\s*\**|\|\s*\**status\**\s*\|)\s*\**["']?(\w[\w -]{2,40})`)
	statusHeading  = lazyregexp.New(`(?im)^#{1,4}\s*status\s*:?\s*\n+\s*[*_]*(\w[\w -]{2,40})`)
	titlePrefix    = lazyregexp.New(`(?i)^(?:(?:adr|rfc)[-_ ]*)?\d{1,5}\s*[.:—–-]+\s*|^(?:adr|rfc)[-_ ]*\d{1,5}\s+`)
	knownStatus    = lazyregexp.New(`(?i)^(proposed|accepted|rejected|deprecated|superseded|draft|approved|implemented|withdrawn|in review|amended)`)
)

// isDecision reports whether a file is an architecture decision record, by its
// name.
func isDecision(name string) bool {
	return decisionFile.MatchString(path.Base(name)) && decisionFolder.MatchString(name) ||
		strings.HasPrefix(strings.ToLower(path.Base(name)), "adr-") && path.Ext(name) == ".md"
}

// decided returns a record's decision and its status; "" if the part that was read
// has no title.
func decided(name, text string) string {
	m := proseTitle.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	title := oneLine(m[1] + m[2])
	title = clip(titlePrefix.ReplaceAllString(title, ""), 140)
	if title == "" || planted.MatchString(title) {
		return ""
	}
	label := "Decision"
	if n := decisionNumber.FindStringSubmatch(path.Base(name)); n != nil {
		label += " " + n[1]
	}
	status := ""
	for _, re := range []*lazyregexp.Regexp{statusLine, statusHeading} {
		if s := re.FindStringSubmatch(text); s != nil && status == "" {
			status = strings.ToLower(knownStatus.FindString(strings.TrimSpace(s[1])))
		}
	}
	if status == "" {
		return label + " \"" + title + "\""
	}
	return label + " \"" + title + "\" is " + status
}
