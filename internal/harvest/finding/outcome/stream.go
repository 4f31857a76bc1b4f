package outcome

import (
	"bytes"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxLine is the maximum length of a line that a Stream parses, in bytes; a longer one
// is ignored.
const maxLine = 1 << 16

// Stream parses test results while an output is being written. It recognises the same
// formats as Tests, except JUnit's XML. It keeps at most MaxTests results that passed,
// and as many that did not. The zero value is ready to use. A Stream is not safe for
// concurrent use.
type Stream struct {
	line   []byte // the current, incomplete line
	long   bool   // the current line is longer than maxLine
	plain  tests
	ticked tests // like plain, and with the ticked lines that build tools print too
	ticks  bool  // ticked has results of such lines
	says   bool  // the output has a line of a runner that prints ticks

	summaries [runners]tally
	verbose   bool // go test prints a line for each test
	plan      bool // the output has the plan of TAP: "1..3"
}

// Write implements io.Writer. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			break
		}
		s.add(p[:i])
		s.end()
		p = p[i+1:]
	}
	return n, nil
}

func (s *Stream) add(p []byte) {
	if s.long = s.long || len(s.line)+len(p) > maxLine; !s.long {
		s.line = append(s.line, p...)
	}
}

// end parses the current line.
func (s *Stream) end() {
	line := strings.TrimRight(string(s.line), "\r \t")
	long := s.long
	s.line, s.long = s.line[:0], false
	if line == "" || long {
		return
	}
	if line[0] == '{' {
		s.verbose = s.verbose || strings.Contains(line, `"Action"`)
		s.plain.room = MaxTests
		s.plain.goJSON(line)
		s.ticked.room = MaxTests
		s.ticked.goJSON(line)
		return
	}
	if len(line) > 1<<10 {
		return
	}
	if strings.Contains(line, "\x1b[") {
		line = colours.ReplaceAllString(line, "")
	}
	s.verbose = s.verbose || strings.HasPrefix(line, "=== RUN ")
	s.plan = s.plan || strings.HasPrefix(line, "1..") && tapPlan.MatchString(line)
	s.summary(line)
	s.says = s.says || maySay(line) && runnerSays.MatchString(line)
	if !likely(line) {
		return
	}
	s.plain.room, s.ticked.room, s.ticked.ticks = MaxTests, MaxTests, true
	s.plain.line(line)
	s.ticked.line(line)
	s.ticks = s.ticks || strings.ContainsAny(line, "✓✔√✕×✗✖❯")
}

// maySay is a quick check: runnerSays matches no line for which it returns false.
func maySay(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return false
	}
	switch c := line[0]; {
	case c >= '0' && c <= '9', c == 'T', c == 'P', c == 'F', c >= 0x80:
		return true
	}
	return strings.HasPrefix(line[1:], " tests ")
}

var tapPlan = lazyregexp.New(`^1\.\.\d+$`)

// colours matches the escape sequences for colours in terminals.
var colours = lazyregexp.New(`\x1b\[[0-9;]*m`)

// Tests returns the results so far, in the order in which the tests were first named.
// complete is false if there were more results than it keeps.
func (s *Stream) Tests() (all []Test, complete bool) {
	if len(s.line) > 0 {
		s.end()
	}
	list := s.list()
	return append([]Test(nil), list.all...), !list.full
}

// list returns the results with the lines of ticks, if a runner printed them.
func (s *Stream) list() *tests {
	if s.ticks && s.says {
		return &s.ticked
	}
	return &s.plain
}
