package analysis

// joint returns the length of the connector at i when it joins the run that
// began at start to what follows, else 0: the dot of log.go, the slash of a
// path, the hyphen of a kebab-case word or a date, the colons of std::vector,
// the at sign of an address, the colon of a time, the comma of 1,234.
func joint(text string, start, i int) int {
	if i == start || i+1 >= len(text) {
		return 0
	}
	switch text[i] {
	case '.', '-', '/', '@':
		if starts(text, i+1) {
			return 1
		}
	case ':':
		switch {
		case text[i+1] == ':' && starts(text, i+2):
			return 2
		case isDigit(text, i-1) && isDigit(text, i+1):
			return 1
		}
	case ',':
		// Three digits after, at most three before.
		if isDigit(text, i-1) && isDigit(text, i+1) && isDigit(text, i+2) && isDigit(text, i+3) && !isDigit(text, i+4) &&
			!(i-4 >= start && isDigit(text, i-2) && isDigit(text, i-3) && isDigit(text, i-4)) {
			return 1
		}
	}
	return 0
}

// starts reports whether a word could start at i.
func starts(text string, i int) bool {
	c, _ := classAt(text, i)
	return c == lower || c == upper || c == digit || c == under
}

func isDigit(text string, i int) bool {
	return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9'
}

// plusPlus returns the end of a name such as C++ or C# whose letters are
// text[start:i], and i when it is none.
func plusPlus(text string, start, i int) int {
	end := i
	switch {
	case i+1 < len(text) && text[i] == '+' && text[i+1] == '+':
		end = i + 2
	case i == start+1 && i < len(text) && text[i] == '#' && ascii[text[start]] == upper:
		end = i + 1
	}
	if end > i && starts(text, end) {
		return i
	}
	return end
}
