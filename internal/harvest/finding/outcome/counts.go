package outcome

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Counts holds how many tests passed and failed, without packages and files. The numbers are those of the runner's own
// summary if it prints one.
type Counts struct {
	Passed, Failed int
	Complete       bool // each test has a name in the output, and was kept
}

// runner is a program that runs tests, or a group of such programs.
type runner uint8

const (
	goTest runner = iota
	pytest
	script // jest, vitest, mocha, node --test, and others that print TAP
	cargo
	rspec
	runners
)

// tally counts tests of one runner.
type tally struct {
	passed, failed int
	seen           bool
}

func (t *tally) add(passed, failed int) {
	t.passed, t.failed, t.seen = t.passed+passed, t.failed+failed, true
}

// summaries match the lines in which runners count tests.
var summaries = []struct {
	re *lazyregexp.Regexp
	by runner
}{
	{lazyregexp.New(`^(?:=+ )?\d+ [a-z]+(?:, \d+ [a-z ]+)* in \d[\d.]*s\b`), pytest},
	{lazyregexp.New(`^Tests:\s+\d+ .*\btotal$`), script},                           // jest
	{lazyregexp.New(`^\s*Tests\s+\d+ [a-z]+(?: \| \d+ [a-z]+)* \(\d+\)$`), script}, // vitest
	{lazyregexp.New(`^\s+\d+ (?:passing(?: \(.*\))?|failing)$`), script},           // mocha
	{lazyregexp.New(`^[#ℹ] (?:pass|fail|cancelled) \d+$`), script},                 // TAP, node --test
	{lazyregexp.New(`^test result: \w+\. \d+ passed; \d+ failed;`), cargo},
	{lazyregexp.New(`^\d+ examples?, \d+ failures?(?:, \d+ (?:pending|errors?)|$)`), rspec},
}

// counted matches one number of a summary. The word follows it, or precedes it.
var counted = lazyregexp.New(`(\d+) (passed|passing|failed|failing|errors?|examples?|failures?|pending)\b|\b(pass|fail|cancelled) (\d+)`)

// summary reads a line in which a runner counts tests.
func (s *Stream) summary(line string) {
	if !strings.Contains(line, "pass") && !strings.Contains(line, "fail") && !strings.Contains(line, "error") && !strings.Contains(line, "cancelled") {
		return
	}
	for _, k := range summaries {
		if !k.re.MatchString(line) {
			continue
		}
		for _, m := range counted.FindAllStringSubmatch(line, -1) {
			n, err := strconv.Atoi(m[1] + m[4])
			if err != nil {
				return
			}
			switch m[2] + m[3] {
			case "passed", "passing", "pass", "example", "examples":
				s.summaries[k.by].add(n, 0)
			case "pending":
				s.summaries[k.by].add(-n, 0)
			case "failure", "failures":
				s.summaries[k.by].add(-n, n)
			default:
				s.summaries[k.by].add(0, n)
			}
		}
		return
	}
}

// Counts returns how many tests passed and failed so far.
func (s *Stream) Counts() Counts {
	all, complete := s.Tests()
	list := s.list()
	var named [runners]tally
	for i, t := range all {
		switch by := &named[list.by[i]]; {
		case t.Group:
			by.seen = true
		case t.Passed:
			by.add(1, 0)
		default:
			by.add(0, 1)
		}
	}
	out := Counts{Complete: complete}
	for by, names := range named {
		total, whole := names, !names.seen // without a summary, tests that passed may have no line
		switch {
		case s.summaries[by].seen:
			total = s.summaries[by]
			whole = names.passed >= total.passed && names.failed >= total.failed
		case by == int(goTest) && list.lines[by].seen:
			total, whole = list.lines[by], s.verbose
		case by == int(script) && s.plan:
			total = list.lines[by]
			whole = names.passed >= total.passed && names.failed >= total.failed
		}
		out.Passed += max(total.passed, 0)
		out.Failed += total.failed
		out.Complete = out.Complete && whole
	}
	return out
}
