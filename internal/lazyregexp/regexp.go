// Package lazyregexp compiles regular expressions on first use. Ken has hundreds of
// them at package level, and most commands need only a few: compiling all at every
// start took longer than many commands.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled by the first call of a method.
// The methods are those of regexp.Regexp, and as safe for concurrent use.
type Regexp struct {
	get func() *regexp.Regexp
}

// New returns the expression for a pattern; the first use panics if the pattern is
// invalid. In a test binary, New compiles at once, so that every test detects every
// invalid pattern linked into it.
func New(pattern string) *Regexp {
	return newRegexp(pattern, underTest(os.Args))
}

func newRegexp(pattern string, now bool) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
	if now {
		r.get()
	}
	return r
}

// underTest reports whether the program is a test binary, by the name that go test
// gives it, without importing package testing. A program that a test starts under
// another name is not one.
func underTest(args []string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(args[0], ".exe"), ".test")
}

// MatchString is as in regexp.Regexp, like all methods.
func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

// FindString returns the leftmost match, or "".
func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

// FindStringIndex returns the position of the leftmost match, or nil.
func (r *Regexp) FindStringIndex(s string) []int { return r.get().FindStringIndex(s) }

// FindStringSubmatch returns the leftmost match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns the positions of the leftmost match and its groups,
// or nil.
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.get().FindStringSubmatchIndex(s) }

// FindAllString returns up to n matches; n < 0 returns all.
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

// FindAllStringIndex returns the positions of up to n matches; n < 0 returns all.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }

// FindAllStringSubmatch returns up to n matches and their groups; n < 0 returns all.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns the positions of up to n matches and their groups;
// n < 0 returns all.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces every match by a template, in which $1 is the first group.
func (r *Regexp) ReplaceAllString(s, template string) string {
	return r.get().ReplaceAllString(s, template)
}

// ReplaceAllStringFunc replaces every match by the result of a function.
func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, f)
}

// ReplaceAll is ReplaceAllString for bytes.
func (r *Regexp) ReplaceAll(s, template []byte) []byte { return r.get().ReplaceAll(s, template) }
