package outcome

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// MaxErrorLine is the maximum length of the lines that ErrorLine and Failed
// return, in characters.
const MaxErrorLine = 240

// toolFailure matches the first line of a result that reports a failed call, in
// the words of the agent or of the system.
var toolFailure = lazyregexp.New(`(?i)^(?:<tool_use_error>|<error>|\[?error\b\s*[:\]]|\[?(?:\w+)?error:|failed to\b|could not\b|can(?:no|')t (?:open|read|find|access|stat)\b|unable to\b|` +
	`(?:no such file|file (?:not found|does not exist|has not been read|has been (?:modified|unexpectedly modified))|path (?:not found|does not exist)|permission denied|access denied)|` +
	`enoent\b|eacces\b|eisdir\b|string to replace not found|no (?:match|replacement)(?:es)? (?:was |were )?(?:found|performed)|old_string (?:not found|is not unique)|` +
	`invalid (?:context|patch|arguments|parameters)|(?:\S+ )?(?:command )?timed out\b|operation (?:was )?(?:aborted|cancelled|canceled)|` +
	`the (?:user|tool) (?:does ?n[o']t|denied|rejected|refused|call was)|(?:user|tool call|request) (?:rejected|denied|cancelled|canceled|interrupted)|` +
	`(?:\S+: ){1,3}(?:no such file or directory|permission denied|is a directory|command not found)|(?:bash|sh|zsh): )`)

// Failed reports whether a tool's result says that the call failed, and returns
// the line that says why. It checks only the beginning of the result: a file that
// mentions errors later was still read successfully.
func Failed(output string) (line string, failed bool) {
	text := strings.TrimSpace(output)
	if strings.HasPrefix(text, "{") && gjson.Valid(text) {
		return failedJSON(gjson.Parse(text))
	}
	first, rest, _ := strings.Cut(text, "\n")
	if first = strings.TrimSpace(first); !toolFailure.MatchString(first) {
		return "", false
	}
	if tag := strings.TrimSpace(tags.ReplaceAllString(first, "")); tag == "" || tag == "Error:" {
		first, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	}
	return clip(tags.ReplaceAllString(first, "")), true
}

var tags = lazyregexp.New(`(?i)</?(?:tool_use_error|error|output|stderr|stdout)>`)

func failedJSON(v gjson.Result) (string, bool) {
	said := ""
	for _, k := range []string{"error.message", "error", "message", "content.0.text", "stderr"} {
		if t := v.Get(k); t.Type == gjson.String && strings.TrimSpace(t.Str) != "" {
			said = t.Str
			break
		}
	}
	for _, k := range []string{"is_error", "isError"} {
		if v.Get(k).Type == gjson.True {
			return firstLine(said), true
		}
	}
	if s := v.Get("success"); s.Type == gjson.False {
		return firstLine(said), true
	}
	if e := v.Get("error"); e.Type == gjson.String && strings.TrimSpace(e.Str) != "" || e.IsObject() {
		return firstLine(said), true
	}
	return "", false
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return clip(first)
}

// clip shortens a line to MaxErrorLine characters.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= MaxErrorLine {
		return s
	}
	return string([]rune(s)[:MaxErrorLine-1]) + "…"
}

// errorShape is a kind of line that says why something failed. A greater weight
// is closer to the cause.
type errorShape struct {
	weight int
	last   bool // use the last of several such lines: a traceback ends with its cause
	re     *lazyregexp.Regexp
}

var errorShapes = []errorShape{
	{90, false, lazyregexp.New(`(?i)^\S*(?:command not found|no such file or directory|permission denied|connection refused|address already in use|cannot connect to)|` +
		`: (?:command not found|permission denied|not found|no such file or directory)$|(?i)connection refused|(?i)cannot connect to|(?i)address already in use|cannot find (?:module|package)|no required module provides`)},
	{85, false, lazyregexp.New(`^\S+\.\w{1,5}:\d+(?::\d+)?:? .*\S`)}, // file:line: message
	{84, false, lazyregexp.New(`^(?:error\[\w+\]|\S+\(\d+,\d+\): error|error TS\d+|fatal( error)?:|panic:|PANIC|ERROR:? )`)},
	{80, true, lazyregexp.New(`^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?::|$)`)},
	{78, false, lazyregexp.New(`^E   .*\S`)}, // pytest
	{70, false, lazyregexp.New(`^(?:--- FAIL: |FAILED |FAIL\s+\S|✕ |× |● |not ok )`)},
	{60, false, lazyregexp.New(`(?i)^(?:npm ERR! (?:code|missing)|error\b|err\b|[\w./-]+: (?:error|fatal)\b|\S*Error:)`)},
	{50, false, lazyregexp.New(`(?i)\b(?:error|failed|failure|fatal|cannot|can't|denied|refused|unable|missing|undefined|unknown|invalid|timed out|no such)\b`)},
	{20, true, lazyregexp.New(`^make(?:\[\d+\])?: \*\*\*`)},
}

// noise matches lines that only repeat that something failed.
var noise = lazyregexp.New(`(?i)^(?:FAIL|exit(?:ed)?(?: status| code)?:? -?\d+|exit code.*|process exited.*|npm ERR! (?:A complete log|\s*$).*|\d+ (?:errors?|failures?|problems?|failed).*|error: \(none\)|` +
	`=+ .*(?:failures|errors|short test summary).* =+|[\[<].*(?:exit code|working directory|returncode).*[\]>]|0 errors?.*|\s*at .*|\S+:\d+ \+0x\w+|\s*File ".*)$`)

// ErrorLine returns the line of an output that says why it failed, "" if there is
// none. Of several equally good lines it returns the first, since later ones are
// often its consequence.
func ErrorLine(output string) string {
	text := Text(output)
	best, weight := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || len(line) > 4<<10 || noise.MatchString(trimmed) {
			continue
		}
		for _, s := range errorShapes {
			if s.weight < weight || s.weight == weight && !s.last {
				break
			}
			if s.re.MatchString(line) || s.weight != 78 && s.re.MatchString(strings.TrimSpace(line)) {
				best, weight = line, s.weight
				break
			}
		}
	}
	return clip(best)
}
