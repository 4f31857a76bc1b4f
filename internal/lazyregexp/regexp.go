// Package lazyregexp compiles a regular expression when it is used first. Ken has
// hundreds of them at package level and most commands need a few: compiling all of
// them at every start took longer than many commands take.
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

// New returns the expression for a pattern; the first use panics if it has a fault.
// In a test binary that is here and now: every test finds every wrong pattern that
// is linked into it.
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

// underTest is testing.Testing without what package testing brings along: go test
// names its binaries so. One that runs under another name, as a command that a test
// starts, is none.
func underTest(args []string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(args[0], ".exe"), ".test")
}
