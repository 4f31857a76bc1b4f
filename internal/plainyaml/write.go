package plainyaml

import (
	"strconv"
	"strings"
	"unicode"
)

// Quote writes a text as a single value that Parse reads back, on one line, also within
// brackets: as it stands where that is safe, else in double quotes.
func Quote(s string) string {
	if worded(s) && !strings.ContainsAny(s, ",[]{}\"\\") && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ") {
		return s
	}
	return strconv.Quote(s) // every escape that it writes is one of YAML's, too
}

// worded reports whether a text reads as words, and not as a number, a date or a switch.
func worded(s string) bool {
	if s == "" {
		return false
	}
	for i, r := range s {
		if i == 0 && !unicode.IsLetter(r) || !unicode.IsPrint(r) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf":
		return false
	}
	return true
}

// ValueAt is where the value stands in a line "key: value": with its quotes, without the
// comment behind it. Both are the end of the line's text where there is none.
func ValueAt(line string) (from, to int) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return len(line), len(line)
	}
	if q := strings.TrimLeft(line, " -"); q != "" && (q[0] == '"' || q[0] == '\'') { // a key in quotes
		at := len(line) - len(q)
		if end := strings.IndexByte(line[at+1:], q[0]); end >= 0 {
			if c := strings.IndexByte(line[at+1+end:], ':'); c >= 0 {
				colon = at + 1 + end + c
			}
		}
	}
	return ScalarAt(line, colon+1)
}

// ScalarAt is where a single value stands in a line from a place on.
func ScalarAt(line string, at int) (from, to int) {
	from, to = at, len(strings.TrimRight(line, " \t"))
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	if from >= to {
		return min(from, len(line)), min(from, len(line))
	}
	switch line[from] {
	case '"', '\'':
		for i := from + 1; i < to; i++ {
			if line[i] == '\\' && line[from] == '"' {
				i++
			} else if line[i] == line[from] {
				return from, i + 1
			}
		}
	case '#':
		return from, from
	default:
		if c := strings.Index(line[from:to], " #"); c >= 0 {
			to = from + len(strings.TrimRight(line[from:from+c], " \t"))
		}
	}
	return from, to
}
