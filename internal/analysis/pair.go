package analysis

import "golang.org/x/text/unicode/norm"

// pairs emits the overlapping pairs of characters of the run that starts at i,
// or the one character that the run consists of, and returns the run's end.
func (s *scanner) pairs(i int) int {
	prev, alone := -1, true
	for {
		c, n := classAt(s.text, i)
		if c != unspace {
			if prev >= 0 && alone {
				s.pos++
				s.emit(s.pair(prev, i), prev, i)
			}
			return i
		}
		next := i + n
		for c, n = classAt(s.text, next); c == mark; c, n = classAt(s.text, next) {
			next += n // marks belong to the character before them
		}
		if prev >= 0 {
			s.pos++
			s.emit(s.pair(prev, next), prev, next)
			alone = false
		}
		prev, i = i, next
	}
}

// pair returns one or two characters of an unspaced script as a term. Half-width
// kana and syllables written as their letters become the common form.
func (s *scanner) pair(a, b int) string {
	t := s.text[a:b]
	if len(t) > MaxTermBytes {
		t = string(cut([]byte(t)))
	}
	for _, r := range t {
		if !common(r) {
			return string(cut(norm.NFKC.Bytes([]byte(t))))
		}
	}
	return t
}

// common reports characters that are their own normal form, whatever is beside them.
func common(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FC || r >= 0xAC00 && r <= 0xD7A3
}
