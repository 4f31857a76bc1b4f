package guardrail

import "strings"

const (
	pemLabel = "PRIVATE KEY"
	pemDash  = "-----"
	// minKeyRun is the shortest unbroken run of base64 that is taken for key
	// material: code that only mentions the header has none.
	minKeyRun = 32
	maxLabel  = 48
)

// findPrivateKey finds a PEM block, up to its end line or, where that is missing
// (a piece of a file), as far as the key goes, and not into the next block: many blocks
// without an end would cost the square of their number. Line ends may be escaped, as in
// JSON.
func findPrivateKey(s string, i int) (Finding, bool) {
	start, i, ok := pemLine(s, i, "BEGIN ")
	if !ok {
		return Finding{}, false
	}
	run, longest, end := 0, 0, i
	for ; i < len(s); i++ {
		c := s[i]
		if strings.HasPrefix(s[i:], pemDash+"BEGIN ") {
			break
		}
		if strings.HasPrefix(s[i:], pemDash+"END ") {
			if rest := strings.Index(s[i+len(pemDash):min(len(s), i+2*len(pemDash)+maxLabel)], pemDash); rest >= 0 {
				end = i + 2*len(pemDash) + rest
			} else {
				end = i
			}
			break
		}
		switch {
		case c == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 'r'):
			i++
			run = 0
		case base64Byte(c):
			run++
			longest = max(longest, run)
			end = i + 1
		case strings.IndexByte(" \t\r\n\"'+-:,.\\", c) >= 0: // line ends, joined literals, the headers of old keys
			run = 0
		case strings.IndexByte(">#|*", c) >= 0 && leadsLine(s, i): // quoted, or in a comment
			run = 0
		default:
			return Finding{"private-key", start, end}, longest >= minKeyRun
		}
	}
	return Finding{"private-key", start, end}, longest >= minKeyRun
}

// findPuTTY finds the lines behind "Private-Lines: N" in a key of PuTTY. i is inside of the name.
func findPuTTY(s string, i int) (Finding, bool) {
	const name = "Private-Lines: "
	from := i - len("Priv")
	if from < 0 || !strings.HasPrefix(s[from:], name) {
		return Finding{}, false
	}
	start := strings.IndexByte(s[from:], '\n')
	if start < 0 {
		return Finding{}, false
	}
	start += from + 1
	end := start
	for end < len(s) && (base64Byte(s[end]) || s[end] == '\n' || s[end] == '\r') {
		end++
	}
	if k := strings.LastIndexByte(s[start:end], '\n'); k >= 0 && end < len(s) { // what stands before the next name
		end = start + k
	}
	return Finding{"private-key", start, end}, end-start >= minKeyRun
}

// findPrivateKeyEnd finds the rest of a key whose first line is in an earlier
// piece of the file.
func findPrivateKeyEnd(s string, i int) (Finding, bool) {
	line, end, ok := pemLine(s, i, "END ")
	if !ok {
		return Finding{}, false
	}
	start, longest := line, 0
	for start > 0 && s[start-1] == '\n' {
		from := strings.LastIndexByte(s[:start-1], '\n') + 1
		key := strings.TrimSuffix(s[from:start-1], "\r")
		if key == "" || strings.IndexFunc(key, func(r rune) bool { return r > 'z' || !base64Byte(byte(r)) }) >= 0 {
			break
		}
		start, longest = from, max(longest, len(key))
	}
	return Finding{"private-key", start, end}, longest >= minKeyRun
}

// pemLine reads a PEM line of a private key whose last two dashes before verb
// are at i, and returns where it starts and ends.
func pemLine(s string, i int, verb string) (start, end int, ok bool) {
	start = i - len(pemDash) + 2
	if start < 0 || !strings.HasPrefix(s[start:], pemDash+verb) {
		return 0, 0, false
	}
	label := start + len(pemDash) + len(verb)
	length := strings.Index(s[label:min(len(s), label+maxLabel)], pemDash)
	if length < 0 || !strings.Contains(s[label:label+length], pemLabel) {
		return 0, 0, false
	}
	return start, label + length + len(pemDash), true
}

// leadsLine reports whether a line starts before s[i], with a few signs or spaces between.
func leadsLine(s string, i int) bool {
	const most = 8
	for lo := max(0, i-most); i > lo; i-- {
		if c := s[i-1]; c == '\n' || c == 'n' && i > 1 && s[i-2] == '\\' {
			return true
		} else if alnum(c) {
			return false
		}
	}
	return i == 0
}
