package outcome

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// MaxTests is the maximum number of tests that Tests returns.
const MaxTests = 1000

// Test is the result of one test, or of one package or file of tests.
type Test struct {
	Name   string // the name that the runner prints
	Passed bool
	Group  bool // a package or a file, not a single test
}

// testLine is the format in which a runner reports a test on one line.
type testLine struct {
	re     *lazyregexp.Regexp // the first group is the name
	passed bool
	group  bool
	tick   bool   // build tools print such lines, too
	has    string // substring of every such line; "" with tick means a tick
	by     runner
}

var testLines = []testLine{
	// go test: tests with -v, packages always. A package that was not run again
	// ("(cached)") passed as well; one without tests has no result.
	{lazyregexp.New(`^\s*--- PASS: (\S+) \(`), true, false, false, "--- PASS: ", goTest},
	{lazyregexp.New(`^\s*--- FAIL: (\S+) \(`), false, false, false, "--- FAIL: ", goTest},
	{lazyregexp.New(`^ok\s+\t?(\S+)\s+(?:\(cached\)|[\d.]+m?s)`), true, true, false, "ok", goTest},
	{lazyregexp.New(`^FAIL\s+(\S+)\s+(?:[\d.]+m?s|\[[\w ]+\])`), false, true, false, "FAIL", goTest},
	// pytest: with -v one line for each test, otherwise one for each file; failed
	// tests at the end.
	{lazyregexp.New(`^(\S+\.py::\S+(?: - \S+)?)\s+PASSED\b`), true, false, false, "PASSED", pytest},
	{lazyregexp.New(`^(\S+\.py::\S+)\s+(?:FAILED|ERROR)\b`), false, false, false, ".py::", pytest},
	{lazyregexp.New(`^(?:FAILED|ERROR) (\S+\.py::\S+)`), false, false, false, ".py::", pytest},
	{lazyregexp.New(`^(\S+\.py) [.sx]*\.[.sx]*\s+\[\s*\d+%\]$`), true, true, false, ".py", pytest},
	{lazyregexp.New(`^(\S+\.py) [.sxFE]*[FE][.sxFE]*\s+\[\s*\d+%\]$`), false, true, false, ".py", pytest},
	// jest and vitest: one line for each file.
	{lazyregexp.New(`^PASS\s+(\S+\.(?:test|spec)\.\w+)(?:\s|$)`), true, true, false, "PASS", script},
	{lazyregexp.New(`^FAIL\s+(\S+\.(?:test|spec)\.\w+)(?:\s|$)`), false, true, false, "FAIL", script},
	{lazyregexp.New(`^\s*[✓✔] (\S+\.(?:test|spec)\.\w+)\s+\(\d+ tests?\)`), true, true, false, " test", script},
	{lazyregexp.New(`^\s*[×✗❯] (\S+\.(?:test|spec)\.\w+)\s+\(\d+ tests?.*failed`), false, true, false, "failed", script},
	{lazyregexp.New(`^\s*[✓✔√] (\S.{0,120}?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`), true, false, true, "", script},
	{lazyregexp.New(`^\s*[✕×✗✖] (\S(?:.{0,119}?[^:\s])??)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`), false, false, true, "", script},
	// cargo test.
	{lazyregexp.New(`^test (\S+(?: - \S+ \(line \d+\))?)(?: - should panic)? \.\.\. ok$`), true, false, false, "... ok", cargo},
	{lazyregexp.New(`^test (\S+(?: - \S+ \(line \d+\))?)(?: - should panic)? \.\.\. FAILED$`), false, false, false, "... FAILED", cargo},
	// rspec names only failed tests.
	{lazyregexp.New(`^rspec (\./\S+?:\d+)`), false, false, false, "rspec ./", rspec},
	// TAP: node --test, bats, prove.
	{lazyregexp.New(`^\s*ok \d+ (?:- )?([^#\s][^#]{0,120}?)\s*(?:# time=\S+)?$`), true, false, false, "ok ", script},
	{lazyregexp.New(`^\s*not ok \d+ (?:- )?([^#\s][^#]{0,120}?)\s*(?:# time=\S+)?$`), false, false, false, "not ok ", script},
}

// suiteMark is the line that node --test prints below the result of a suite, in TAP.
const suiteMark = "type: 'suite'"

// wanted are substrings one of which is in every line that testLines match. Lines
// without any are skipped.
var wanted = []string{"--- ", "ok", "FAIL", "PASS", ".py", "✓", "✔", "√", "✕", "×", "✗", "✖", "❯", "test ", "rspec ", "ERROR", "%]", "▶ ", suiteMark}

var (
	pytestMore  = lazyregexp.New(`^[.sxXFE]*[FE][.sxXFE]*\s+\[\s*\d+%\]$`)
	suiteLine   = lazyregexp.New(`^\s*▶ (\S.{0,120}?)(?: \([\d.]+ms\))?$`)
	tapNameless = lazyregexp.New(`^(not )?ok \d+$`)
	junitCase   = lazyregexp.New(`<testcase\b([^>]*?)(/?)>`)
	attribute   = lazyregexp.New(`\b(classname|name)="([^"]{1,200})"`)
)

// Tests returns the results of the tests in the output of a test runner, in order.
// The last result for each name counts. It recognises go test (plain, -v and -json),
// pytest, jest, vitest, cargo test, rspec's failures, TAP and JUnit's XML. For any
// other output it returns nil.
func Tests(output string) []Test {
	output = Text(output)
	list := tests{ticks: strings.ContainsAny(output, "✓✔√✕×✗✖❯") && runnerSays.MatchString(output)}
	if strings.Contains(output, "<testcase") {
		list.junit(output)
		return list.all
	}
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n \t")
		if line == "" || len(line) > 1<<10 || len(list.all) == MaxTests {
			continue
		}
		if line[0] == '{' {
			list.goJSON(line)
			continue
		}
		list.line(line)
	}
	return list.all
}

// runnerSays matches a line by which a runner that prints ticks is recognised.
var runnerSays = lazyregexp.New(`(?m)^\s*(?:Tests?:?\s|Test (?:Files|Suites)|\d+ (?:passing|failing|tests?|specs?)\b|. tests \d|(?:PASS|FAIL)\s+\S+\.(?:test|spec)\.|[✓✔❯×✗] \S+\.(?:test|spec)\.)`)

// tests collects results, one for each name.
type tests struct {
	ticks  bool // the runner prints ticks
	all    []Test
	by     []runner       // of all
	lines  [runners]tally // lines about single tests
	at     map[string]int
	last   int             // index of the last named one; len(all) if it was not kept
	suites map[string]bool // of node --test
	file   string          // the file of pytest's last line about one
	room   int             // number of failed tests and groups that are kept beyond MaxTests
	full   bool            // some results were not kept
}

func (l *tests) add(t Test, by runner) {
	if !t.Group {
		l.count(by, t.Passed)
	}
	if t.Name = strings.TrimSpace(t.Name); t.Name == "" {
		return
	}
	if i, ok := l.at[t.Name]; ok {
		l.all[i].Passed, l.last = t.Passed, i
		return
	}
	if most := MaxTests; len(l.all) >= most && (t.Passed && !t.Group || len(l.all) >= most+l.room) {
		l.full, l.last = true, len(l.all)
		return
	}
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.at[t.Name], l.last = len(l.all), len(l.all)
	l.all, l.by = append(l.all, t), append(l.by, by)
}

// count counts a line about a single test.
func (l *tests) count(by runner, passed bool) {
	if passed {
		l.lines[by].add(1, 0)
	} else {
		l.lines[by].add(0, 1)
	}
}

func (l *tests) line(line string) {
	if !likely(line) {
		return
	}
	if l.special(line) {
		return
	}
	for _, tl := range testLines {
		if tl.tick && !(l.ticks && strings.ContainsAny(line, "✓✔√✕×✗✖")) || !strings.Contains(line, tl.has) {
			continue
		}
		if m := tl.re.FindStringSubmatch(line); m != nil {
			l.add(Test{Name: m[1], Passed: tl.passed, Group: tl.group || l.suites[m[1]]}, tl.by)
			if file, _, ok := strings.Cut(m[1], "::"); tl.by == pytest && !tl.passed {
				l.failed(file)
			} else if tl.by == pytest && !ok {
				l.file = file
			}
			return
		}
	}
}

// special reads the lines about tests that name none.
func (l *tests) special(line string) bool {
	switch {
	case strings.Contains(line, "▶ "):
		if m := suiteLine.FindStringSubmatch(line); m != nil && len(l.suites) < MaxTests {
			if l.suites == nil {
				l.suites = map[string]bool{}
			}
			l.suites[m[1]] = true
			return true
		}
	case strings.HasSuffix(line, suiteMark):
		if l.last < len(l.all) {
			l.all[l.last].Group = true
		}
		return true
	case strings.HasSuffix(line, "%]") && pytestMore.MatchString(line):
		l.failed(l.file)
		return true
	case strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "not ok "):
		if m := tapNameless.FindStringSubmatch(line); m != nil {
			l.count(script, m[1] == "")
			return true
		}
	}
	return false
}

// failed marks a file as failed whose line did not say so: a long list of dots goes on in the next line.
func (l *tests) failed(file string) {
	if i, ok := l.at[file]; ok {
		l.all[i].Passed = false
	}
}

func likely(line string) bool {
	return slices.ContainsFunc(wanted, func(w string) bool { return strings.Contains(line, w) })
}

// goJSON parses a line of go test -json.
func (l *tests) goJSON(line string) {
	if !strings.Contains(line, `"Action"`) || !gjson.Valid(line) {
		return
	}
	v := gjson.GetMany(line, "Action", "Package", "Test")
	action, name := v[0].String(), v[2].String()
	if action != "pass" && action != "fail" || v[1].String() == "" {
		return
	}
	if name == "" {
		l.add(Test{Name: v[1].String(), Passed: action == "pass", Group: true}, goTest)
		return
	}
	l.add(Test{Name: name, Passed: action == "pass"}, goTest)
}

func (l *tests) junit(xml string) {
	found := junitCase.FindAllStringSubmatchIndex(xml, MaxTests+1)
	for i, m := range found {
		end := len(xml)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		name, class := "", ""
		for _, a := range attribute.FindAllStringSubmatch(xml[m[2]:m[3]], -1) {
			if a[1] == "name" {
				name = a[2]
			} else {
				class = a[2] + "."
			}
		}
		inside := ""
		if m[4] == m[5] { // not a self-closing tag
			inside, _, _ = strings.Cut(xml[m[1]:end], "</testcase>")
		}
		if name == "" || strings.Contains(inside, "<skipped") {
			continue
		}
		l.add(Test{Name: class + name, Passed: !strings.Contains(inside, "<failure") && !strings.Contains(inside, "<error")}, script)
	}
}
