package taint

import "strings"

// Numbers of accounts, cards and telephones have this many digits.
const minDigits, maxDigits = 10, 34

// numbers reads long numbers in groups, as people write them: "DE89 3704 0044 …" and
// "+49 (170) 555-01" are one number each. A group of an account number may begin with
// letters. A time in seconds or milliseconds is no such number.
func (t *tokens) numbers(s string) {
	var buf [maxDigits]byte
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) || i > 0 && wordByte(s[i-1]) && !prefixed(s, i) {
			continue
		}
		n, j := 0, i
		for gap := 0; j < len(s) && n < len(buf) && gap < 3; j++ {
			if digit(s[j]) {
				buf[n], gap = s[j], 0
				n++
			} else if gap++; strings.IndexByte(" -().+/", s[j]) < 0 {
				break
			}
		}
		if number := string(buf[:n]); n >= minDigits && !moment(number) && !date(s[i:j]) {
			t.add("n", number, sure)
		}
		i = max(i, j-1)
	}
}

// prefixed reports digits behind the two letters of a country, as in de89.
func prefixed(s string, i int) bool {
	return i >= 2 && letter(s[i-1]) && letter(s[i-2]) && (i == 2 || !wordByte(s[i-3]))
}

// moment reports a time in seconds, milliseconds or nanoseconds since 1970.
func moment(n string) bool {
	return (len(n) == 10 || len(n) == 13 || len(n) == 16 || len(n) == 19) && (n[0] == '1' || n[0] == '2')
}

// date reports a number that is a date with dashes or dots.
func date(s string) bool {
	return len(s) >= 10 && (s[4] == '-' || s[4] == '.' || s[4] == '/') && (s[0] == '1' || s[0] == '2')
}
