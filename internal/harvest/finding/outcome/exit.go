package outcome

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// frameLines is the maximum number of lines in a frame. The longest frame in use
// has seven.
const frameLines = 8

// exitLine matches a line of a frame that names the exit code. It covers the
// frames of Claude Code, Codex, Gemini CLI, OpenHands, Cline, Roo, Cursor,
// Crush, mini-swe-agent and similar agents.
var exitLine = lazyregexp.New(`(?i)^[\[(<]?\s*(?:` +
	`(?:exit[_ -]?(?:ed|code|status)?|return[_ ]?code)(?:\s+with)?(?:\s+code)?\s*[:=>]?\s*(-?\d{1,10})(?:\s*</\w+>)?` +
	`|(?:the\s+)?(?:command|process|script|shell)\s+(?:has\s+)?(?:completed|finished|failed|exited|terminated)(?:\s+\w+ly)?\s+with\s+(?:an?\s+)?(?:non-?zero\s+)?(?:exit\s+)?(?:code|status)\s*:?\s*(-?\d{1,10})` +
	`|command executed in terminal.*\.\s*exit code:\s*(-?\d{1,10})` +
	`|error:\s+(?:command|process)\s+(?:failed|exited)\s+with\s+(?:exit\s+)?code\s*:?\s*(-?\d{1,10})` +
	`)\s*[.,]?\s*[\])>]?\s*$`)

// frameLine matches a line of a frame without an exit code.
var frameLine = lazyregexp.New(`(?i)^(?:(?:command|directory|cwd|working directory|chunk id|wall time|duration|signal|error|original token count|total output lines|` +
	`background pids|process group pgid|status|timed out|session id|stderr|script completed)\b[^a-z]?.{0,200}|` +
	`\[(?:current working directory|python interpreter|command|the command|process|exit|duration|pid|cwd)\b.*\]|</?[\w-]{1,30}>.{0,200}|` + "```)$")

// outputLine matches the last line of the frame before an output.
var outputLine = lazyregexp.New(`(?i)^(?:command )?output:?|^stdout:`)

// Exit returns the exit code of a command from the output that its tool
// returned. ok is false if the output does not name one.
func Exit(output string) (code int, ok bool) {
	text := strings.TrimSpace(output)
	if strings.HasPrefix(text, "{") && gjson.Valid(text) {
		return exitOfJSON(gjson.Parse(text))
	}
	if code, ok := exitAbove(text); ok {
		return code, ok
	}
	return exitBelow(text)
}

// exitAbove parses the frame before an output.
func exitAbove(text string) (int, bool) {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if code, ok := named(line); ok {
			return code, true
		}
		if n++; n >= frameLines || line != "" && !frameLine.MatchString(line) || outputLine.MatchString(line) {
			return 0, false
		}
	}
	return 0, false
}

// exitBelow parses the frame after an output.
func exitBelow(text string) (int, bool) {
	for range frameLines {
		i := strings.LastIndexByte(text, '\n')
		line := strings.TrimSpace(text[i+1:])
		if code, ok := named(line); ok {
			return code, true
		}
		if i < 0 || line != "" && !frameLine.MatchString(line) {
			return 0, false
		}
		text = strings.TrimRight(text[:i], "\n\r\t ")
	}
	return 0, false
}

func named(line string) (int, bool) {
	if len(line) > 300 {
		return 0, false
	}
	m := exitLine.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	for _, digits := range m[1:] {
		if digits != "" {
			code, err := strconv.Atoi(digits)
			return code, err == nil
		}
	}
	return 0, false
}

// exitKeys are the names of the exit code in structured results.
var exitKeys = []string{"exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status", "exitStatus"}

// exitPlaces are the objects of a structured result that may hold it.
var exitPlaces = []string{"metadata", "result", "output", "structuredContent", "data", "content.0"}

func exitOfJSON(v gjson.Result) (int, bool) {
	for _, place := range append([]string{"@this"}, exitPlaces...) {
		o := v.Get(place)
		if !o.IsObject() {
			continue
		}
		for _, k := range exitKeys {
			if n := o.Get(k); n.Type == gjson.Number && n.Num == float64(int(n.Num)) {
				return int(n.Num), true
			}
		}
	}
	for _, k := range []string{"content.0.text", "output", "result", "content"} {
		if t := v.Get(k); t.Type == gjson.String && !strings.HasPrefix(strings.TrimSpace(t.Str), "{") {
			if code, ok := Exit(t.Str); ok {
				return code, ok
			}
		}
	}
	return 0, false
}
