package model

// Supported reports whether a message that says one thing has the names and numbers of another.
func Supported(text, said string) bool {
	s := newSaid()
	s.add(said)
	return s.hasNumbers(text, "", nil) && s.hasNames(text, nil)
}
