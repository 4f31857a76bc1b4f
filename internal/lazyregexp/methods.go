package lazyregexp

// MatchString is what it is for a regexp.Regexp, as all methods are.
func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

// FindString returns the leftmost match, or "".
func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

// FindStringIndex returns where the leftmost match is, or nil.
func (r *Regexp) FindStringIndex(s string) []int { return r.get().FindStringIndex(s) }

// FindStringSubmatch returns the leftmost match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns where the leftmost match and its groups are, or nil.
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.get().FindStringSubmatchIndex(s) }

// FindAllString returns up to n matches; n < 0 is all.
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

// FindAllStringIndex returns where up to n matches are; n < 0 is all.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }

// FindAllStringSubmatch returns up to n matches and their groups; n < 0 is all.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns where up to n matches and their groups are; n < 0 is all.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces every match by a template, in which $1 is the first group.
func (r *Regexp) ReplaceAllString(s, template string) string {
	return r.get().ReplaceAllString(s, template)
}

// ReplaceAllStringFunc replaces every match by what a function makes of it.
func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, f)
}

// ReplaceAll is ReplaceAllString for bytes.
func (r *Regexp) ReplaceAll(s, template []byte) []byte { return r.get().ReplaceAll(s, template) }
