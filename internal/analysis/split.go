package analysis

// SplitIdentifier returns the lower-case parts of an identifier or path, in
// order: HTTPServer gives http and server, max_results2 gives max, results
// and 2. It splits at everything that is neither letter nor digit, between
// letters and digits, and where the case rises; it removes no stop words and
// stems nothing. It never returns nil.
func SplitIdentifier(s string) []string {
	parts := make([]string, 0, 4)
	for a, b := part(s, 0); a < b; a, b = part(s, b) {
		if p := fold(nil, s[a:b]); len(p) > 0 {
			parts = append(parts, string(p))
		}
	}
	return parts
}

// divisible reports whether s has more than one part or a separator.
func divisible(s string) bool {
	a, b := part(s, 0)
	return a < b && (a > 0 || b < len(s))
}

// part returns where the next part of an identifier is, from i on. The range is
// empty at the end.
func part(s string, i int) (start, end int) {
	c, n := classAt(s, i)
	for c == space || c == under || c == mark {
		if n == 0 {
			return len(s), len(s)
		}
		i += n
		c, n = classAt(s, i)
	}
	start, end = i, i+n
	if c == digit {
		return start, skip(s, end, digit)
	}
	if c == upper {
		last := start // the last upper-case letter
		for {
			c, n = classAt(s, end)
			if c != upper && c != mark {
				break
			}
			if c == upper {
				last = end
			}
			end += n
		}
		if c != lower && c != unspace || last == start {
			return start, skip(s, end, lower)
		}
		if next, _ := classAt(s, end+n); s[end] == 's' && next != lower { // the plural of an acronym: userIDs
			return start, end + n
		}
		return start, last // HTTPServer: the last capital starts the next part
	}
	return start, skip(s, end, lower)
}

// skip returns the end of the run of characters of class want at i. Marks
// belong to what is before them, and scripts without case count as lower.
func skip(s string, i int, want class) int {
	for {
		c, n := classAt(s, i)
		if c != want && c != mark && (c != unspace || want != lower) {
			return i
		}
		i += n
	}
}
