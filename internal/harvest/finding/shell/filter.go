package shell

import (
	"path"
	"slices"
	"strings"
)

// anyRunner holds options that limit a test run with any runner.
var anyRunner = set(`-run --run -test.run -skip -test.skip --grep --fgrep --filter --filters --tests --only --only-failures --testNamePattern --test-name-pattern
	--focus --example --lf --last-failed --failed --failed-first-only --deselect --shard --onlyChanged --onlyFailures --changed --related --testcase -Dtest -Dit.test`)

// ofRunner holds more such options, by runner. They mean something else in other programs.
var ofRunner = map[string]map[string]bool{
	"pytest": set("-k -m"), "py.test": set("-k -m"), "jest": set("-t -o"), "vitest": set("-t"), "mocha": set("-g -f"), "playwright": set("-g"),
	"rspec": set("-e -t"), "ctest": set("-R -E -L -I"), "nextest": set("-E"), "ava": set("-m"), "unittest": set("-k"), "minitest": set("-n"), "phpunit": set("-g"),
}

// scripted holds programs that pass the arguments after "--" to a runner that the line does
// not name.
var scripted = set("npm pnpm yarn bun npx")

// testFilter returns the words of a command that limit a test run: an option with its value,
// the name of a test, or a file of a Go package. It returns "" if there are none.
func testFilter(words []word) string {
	if len(words) == 0 {
		return ""
	}
	program := path.Base(words[0].value)
	short := map[string]bool{}
	for i, w := range words {
		if i > 4 {
			break
		}
		for option := range ofRunner[path.Base(w.value)] {
			short[option] = true
		}
	}
	if scripted[program] {
		short = set("-t -g")
	}
	for i, w := range words[1:] {
		name, value, joined := strings.Cut(w.value, "=")
		if name == "-m" && i+2 < len(words) && ofRunner[words[i+2].value] != nil { // python -m pytest
			continue
		}
		if !anyRunner[name] && !short[name] {
			continue
		}
		if joined {
			if !matchesAll(value) {
				return w.value
			}
			continue
		}
		if next := i + 2; next < len(words) && !strings.HasPrefix(words[next].value, "-") {
			if !matchesAll(words[next].value) {
				return name + " " + words[next].value
			}
			continue
		}
		return name
	}
	sub := words[1:]
	switch {
	case program == "go" && len(sub) > 0 && sub[0].value == "test":
		return firstWhere(sub, func(v string) bool { return strings.HasSuffix(v, "_test.go") })
	case program == "cargo" && len(sub) > 0 && (sub[0].value == "test" || sub[0].value == "t"):
		return cargoFilter(sub[1:])
	}
	return firstWhere(sub, func(v string) bool { return strings.Contains(v, "::") && !strings.HasPrefix(v, "-") }) // file::test
}

// matchesAll reports whether a pattern matches every test.
func matchesAll(pattern string) bool {
	return slices.Contains([]string{"", ".", "^", ".*", "Test", "^Test", "*"}, strings.Trim(pattern, `"'`))
}

func firstWhere(words []word, is func(string) bool) string {
	for _, w := range words {
		if is(w.value) {
			return w.value
		}
	}
	return ""
}

// cargoFilter returns the name of a test in the arguments of cargo test.
func cargoFilter(args []word) string {
	valued := set("-p --package --test --bin --example --bench --features -F --manifest-path --target --target-dir --profile --exclude -j --jobs --config --color --message-format")
	for i := 0; i < len(args); i++ {
		switch v := args[i].value; {
		case v == "--":
			return firstWhere(args[i+1:], func(v string) bool { return !strings.HasPrefix(v, "-") })
		case valued[v]:
			i++
		case !strings.HasPrefix(v, "-") && !strings.HasPrefix(v, "+"):
			return v
		}
	}
	return ""
}
