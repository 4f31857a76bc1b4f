package outcome

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// MaxTests bounds what Tests returns.
const MaxTests = 1000

// Test is one test, or one package or file of tests, of a run.
type Test struct {
	Name   string // as its runner names it
	Passed bool
	Group  bool // a package or a file, not a single test
}

// testLine is how a runner reports a test on a line of its own.
type testLine struct {
	re     *lazyregexp.Regexp // the first group is the name
	passed bool
	group  bool
	tick   bool   // build tools print such lines too
	has    string // that every such line has; a tick for "" and tick
}

var testLines = []testLine{
	// go test: tests with -v, packages always. A package that was not run again
	// ("(cached)") passed all the same; one without tests says nothing.
	{lazyregexp.New(`^\s*--- PASS: (\S+) \(`), true, false, false, "--- PASS: "},
	{lazyregexp.New(`^\s*--- FAIL: (\S+) \(`), false, false, false, "--- FAIL: "},
	{lazyregexp.New(`^ok\s+\t?(\S+)\s+(?:\(cached\)|[\d.]+m?s)`), true, true, false, "ok"},
	{lazyregexp.New(`^FAIL\s+(\S+)\s+(?:[\d.]+m?s|\[[\w ]+\])`), false, true, false, "FAIL"},
	// pytest: with -v a test a line, at the end what failed, else a file a line.
	{lazyregexp.New(`^(\S+\.py::\S+(?: - \S+)?)\s+PASSED\b`), true, false, false, "PASSED"},
	{lazyregexp.New(`^(\S+\.py::\S+)\s+(?:FAILED|ERROR)\b`), false, false, false, ".py::"},
	{lazyregexp.New(`^(?:FAILED|ERROR) (\S+\.py::\S+)`), false, false, false, ".py::"},
	{lazyregexp.New(`^(\S+\.py) [.sx]*\.[.sx]*\s+\[\s*\d+%\]$`), true, true, false, ".py"},
	{lazyregexp.New(`^(\S+\.py) [.sxFE]*[FE][.sxFE]*\s+\[\s*\d+%\]$`), false, true, false, ".py"},
	// jest and vitest: a file a line.
	{lazyregexp.New(`^PASS\s+(\S+\.(?:test|spec)\.\w+)(?:\s|$)`), true, true, false, "PASS"},
	{lazyregexp.New(`^FAIL\s+(\S+\.(?:test|spec)\.\w+)(?:\s|$)`), false, true, false, "FAIL"},
	{lazyregexp.New(`^\s*[✓✔] (\S+\.(?:test|spec)\.\w+)\s+\(\d+ tests?\)`), true, true, false, " test"},
	{lazyregexp.New(`^\s*[×✗❯] (\S+\.(?:test|spec)\.\w+)\s+\(\d+ tests?.*failed`), false, true, false, "failed"},
	{lazyregexp.New(`^\s*[✓✔√] (\S.{2,120}?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`), true, false, true, ""},
	{lazyregexp.New(`^\s*[✕×✗] (\S.{2,120}?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`), false, false, true, ""},
	// cargo test.
	{lazyregexp.New(`^test (\S+)(?: - should panic)? \.\.\. ok$`), true, false, false, "... ok"},
	{lazyregexp.New(`^test (\S+)(?: - should panic)? \.\.\. FAILED$`), false, false, false, "... FAILED"},
	// rspec says by name only what failed.
	{lazyregexp.New(`^rspec (\./\S+?:\d+)`), false, false, false, "rspec ./"},
	// TAP: node --test, bats, prove.
	{lazyregexp.New(`^\s*ok \d+ (?:- )?(\S[^#]{2,120}?)\s*(?:# time=\S+)?$`), true, false, false, "ok "},
	{lazyregexp.New(`^\s*not ok \d+ (?:- )?(\S[^#]{2,120}?)\s*(?:# time=\S+)?$`), false, false, false, "not ok "},
}

// wanted are the bytes one of which every line of testLines has near its start;
// the rest is not tried.
var wanted = []string{"--- ", "ok", "FAIL", "PASS", ".py", "✓", "✔", "√", "✕", "×", "✗", "❯", "test ", "rspec ", "ERROR"}

var (
	junitCase = lazyregexp.New(`<testcase\b([^>]*?)(/?)>`)
	attribute = lazyregexp.New(`\b(classname|name)="([^"]{1,200})"`)
)

// Tests returns what the output of a test runner says of each test, in order: the
// last word on each name counts. It reads go test (plain, -v and -json), pytest,
// jest, vitest, cargo test, rspec's failures, TAP and JUnit's XML. An output of
// something else gives nothing.
func Tests(output string) []Test {
	output = Text(output)
	list := tests{ticks: strings.ContainsAny(output, "✓✔√✕×✗❯") && runnerSays.MatchString(output)}
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

// runnerSays is what a runner that ticks its tests off says elsewhere in its output.
var runnerSays = lazyregexp.New(`(?m)^\s*(?:Tests?:?\s|Test (?:Files|Suites)|\d+ (?:passing|failing|tests?|specs?)\b|. tests \d|(?:PASS|FAIL)\s+\S+\.(?:test|spec)\.|[✓✔❯×✗] \S+\.(?:test|spec)\.)`)

// tests collects results without repetition.
type tests struct {
	ticks bool // the runner ticks tests off
	all   []Test
	at    map[string]int
	room  int  // for tests that failed and groups, beyond MaxTests
	full  bool // some had no room
}

func (l *tests) add(t Test) {
	if t.Name = strings.TrimSpace(t.Name); t.Name == "" {
		return
	}
	if i, ok := l.at[t.Name]; ok {
		l.all[i].Passed = t.Passed
		return
	}
	if most := MaxTests; len(l.all) >= most && (t.Passed && !t.Group || len(l.all) >= most+l.room) {
		l.full = true
		return
	}
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.at[t.Name] = len(l.all)
	l.all = append(l.all, t)
}

func (l *tests) line(line string) {
	if !likely(line) {
		return
	}
	for _, tl := range testLines {
		if tl.tick && !(l.ticks && strings.ContainsAny(line, "✓✔√✕×✗")) || !strings.Contains(line, tl.has) {
			continue
		}
		if m := tl.re.FindStringSubmatch(line); m != nil {
			l.add(Test{Name: m[1], Passed: tl.passed, Group: tl.group})
			return
		}
	}
}

func likely(line string) bool {
	for _, w := range wanted {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// goJSON reads a line of go test -json.
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
		l.add(Test{Name: v[1].String(), Passed: action == "pass", Group: true})
		return
	}
	l.add(Test{Name: name, Passed: action == "pass"})
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
		if m[4] == m[5] { // not closed in itself
			inside, _, _ = strings.Cut(xml[m[1]:end], "</testcase>")
		}
		if name == "" || strings.Contains(inside, "<skipped") {
			continue
		}
		l.add(Test{Name: class + name, Passed: !strings.Contains(inside, "<failure") && !strings.Contains(inside, "<error")})
	}
}
