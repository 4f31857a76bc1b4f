package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// prose tells what somebody wrote to be read from code, logs, tables and headings.
func prose(line string) bool {
	if line == "" || strings.IndexByte(">|#$@{}[<%=\\/", line[0]) >= 0 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(line); strings.ContainsRune(status, r) {
		return false
	}
	for _, mark := range [...]string{"+++", "---", "***", "===", "//", "/*", "at ", "File \"", "!["} {
		if strings.HasPrefix(line, mark) {
			return false
		}
	}
	if logged(line) || len(analysis.Definitions(line)) > 0 {
		return false
	}
	bare := strings.ReplaceAll(uncoded(line), "**", "")
	if bare == "" {
		return false
	}
	for _, mark := range [...]string{":=", "==", "=>", "->", "();", "</", "/>", "&&", "||", "!=", "+=", "{}", "${", "\":", "::"} {
		if strings.Contains(bare, mark) {
			return false
		}
	}
	switch bare[len(bare)-1] {
	case '{', '}', ';', '\\', '=':
		return false
	}
	letters, marks, token := 0, 0, 0
	for _, c := range bare {
		if c == ' ' {
			token = 0
			continue
		}
		if token++; token > maxToken && c < utf8.RuneSelf {
			return false
		}
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c):
			letters++
		case strings.ContainsRune("=<>{}[]|\\/_;#$%^&*+~@", c):
			marks++
		}
	}
	return letters > 0 && marks*8 <= letters
}

// status is what programs put before what they report.
const status = "⚠❌✅✓✗✔✘ℹ→│└├"

// printed reports a message that holds what a program printed.
func printed(text string) bool {
	if len(text) > headBytes {
		text = text[:headBytes]
	}
	fence := false // what stands in a block is left out anyway
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fence = !fence
		case fence || line == "":
		case logged(line), strings.ContainsAny(line, "⚠❌✗✘"):
			return true
		}
	}
	return false
}

// uncoded is a line with what stands between backticks replaced by a word.
func uncoded(line string) string {
	if strings.IndexByte(line, '`') < 0 {
		return line
	}
	var b strings.Builder
	for i, part := range strings.Split(line, "`") {
		if i%2 == 0 {
			b.WriteString(part)
		} else {
			b.WriteString("code")
		}
	}
	return b.String()
}

// logged reports a line that a program wrote: a time or a level comes first.
func logged(line string) bool {
	first, rest, _ := strings.Cut(line, " ")
	level := strings.Trim(first, "[]:")
	switch level {
	case "INFO", "WARN", "WARNING", "ERROR", "DEBUG", "TRACE", "FATAL", "PASS", "FAIL", "ok", "Traceback", "panic", "goroutine", "npm", "error", "warning":
		return len(rest) > 0 && (level != "ok" || strings.Contains(line, "\t")) && (level == strings.ToUpper(level) || strings.HasSuffix(first, ":") || level == "Traceback" || level == "goroutine")
	}
	digits, marks := 0, 0
	for i := range len(first) {
		switch c := first[i]; {
		case digit(c):
			digits++
		case c == ':' || c == '-' || c == '/' || c == 'T' || c == 'Z' || c == '.' || c == '[' || c == ']':
			marks++
		default:
			return false
		}
	}
	return digits >= 6 && marks >= 2 // 2024-03-04T10:11:12Z, 10:11:12.345
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
