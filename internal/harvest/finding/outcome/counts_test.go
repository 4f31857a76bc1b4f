package outcome

import (
	"fmt"
	"strings"
	"testing"
)

// Outputs of real runs, shortened: pytest 9.2, go 1.26, jest 30, vitest 4.1, mocha 11, node 20, cargo, Test::More; rspec
// as its documentation shows it.
func TestCounts(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"pytest", "collected 157 items\n\ntest_a.py ..F     [  1%]\ntest_b.py ............ [ 41%]\n......FsxE      [ 99%]\ntest_c.py .     [100%]\n\n" +
			"FAILED test_a.py::test_bad - assert 0\nFAILED test_b.py::test_n[149] - assert 149 != 149\nERROR test_b.py::test_err - ValueError\n" +
			"========= 2 failed, 152 passed, 1 skipped, 1 xfailed, 1 error in 0.18s =========", "152 3 false; -/test_a.py -/test_b.py +/test_c.py -test_a.py::test_bad -test_b.py::test_n[149] -test_b.py::test_err"},
		{"pytest, one file", "collected 2 items\n\ntest_a.py ..       [100%]\n\n============ 2 passed in 0.04s ============", "2 0 false; +/test_a.py"},
		{"pytest -q", "..F       [100%]\nFAILED test_a.py::test_bad - assert 0\n1 failed, 2 passed in 0.04s", "2 1 false; -test_a.py::test_bad"},
		{"pytest -q, passed", ".        [100%]\n1 passed, 2 warnings in 61.01s (0:01:01)", "1 0 false; "},
		{"pytest -qq", ".F      [100%]\nFAILED test_a.py::test_bad - assert 0", "0 1 false; -test_a.py::test_bad"},
		{"pytest -v", "test_a.py::test_ok PASSED   [ 50%]\ntest_a.py::test_bad FAILED  [100%]\nFAILED test_a.py::test_bad - assert 0\n=== 1 failed, 1 passed in 0.04s ===", "1 1 true; +test_a.py::test_ok -test_a.py::test_bad"},
		{"go", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/two (0.00s)\nFAIL\nFAIL\texample.org/m/a\t0.003s\nok  \texample.org/m/b\t0.002s", "0 2 false; -TestA -TestA/two -/example.org/m/a +/example.org/m/b"},
		{"go, passed", "ok  \texample.org/m/b\t0.002s", "0 0 false; +/example.org/m/b"},
		{"go -v", "=== RUN   TestB\n--- PASS: TestB (0.00s)\nok  \tm/a\t0.003s\n=== RUN   TestB\n--- PASS: TestB (0.00s)\n=== RUN   TestC\n--- FAIL: TestC (0.00s)\nFAIL\nFAIL\tm/b\t0.003s", "2 1 true; +TestB +/m/a -TestC -/m/b"},
		{"go -json", `{"Action":"pass","Package":"m/a","Test":"TestB"}` + "\n" + `{"Action":"pass","Package":"m/a"}` + "\n" + `{"Action":"fail","Package":"m/b","Test":"TestB"}`, "1 1 true; -TestB +/m/a"},
		{"jest", "FAIL j/a.test.js\n  ● Button › clicks\n\nPASS j/b.test.js\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 1 todo, 4 passed, 7 total", "4 1 false; -/j/a.test.js +/j/b.test.js"},
		{"jest --verbose", "PASS j/b.test.js\n  ✓ one (2 ms)\n  ✓ x (1 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       2 passed, 2 total", "2 0 true; +/j/b.test.js +one +x"},
		{"vitest", " ❯ a.test.js (3 tests | 1 failed | 1 skipped) 10ms\n     × adds 9ms\n     ✓ b 0ms\n     ↓ later\n ✓ b.test.js (3 tests) 3ms\n\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 4 passed | 1 skipped (6)", "4 1 false; -/a.test.js -adds +b +/b.test.js"},
		{"vitest, verbose", " × a.test.js > Cart > adds 11ms\n ✓ b.test.js > one 2ms\n\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 1 passed (2)", "1 1 true; -a.test.js > Cart > adds +b.test.js > one"},
		{"mocha", "  Cart\n    ✔ adds\n    1) breaks\n    - later\n\n  1 passing (6ms)\n  1 pending\n  1 failing", "1 1 false; +adds"},
		{"node", "TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\n  ...\nnot ok 2 - b\nok 3 - later # SKIP\n# Subtest: group\n    ok 1 - in it\n    1..1\nok 4 - group\n  ---\n  type: 'suite'\n  ...\n1..4\n# tests 4\n# suites 1\n# pass 2\n# fail 1\n# cancelled 0", "2 1 true; +adds -b +in it +/group"},
		{"node, spec", "✔ adds numbers (6.163886ms)\n✖ b (0.39061ms)\n﹣ later (0.254698ms) # SKIP\n▶ group\n  ✔ in it (0.197243ms)\n✔ group (0.708181ms)\nℹ tests 4\nℹ suites 1\nℹ pass 2\nℹ fail 1\n\n✖ failing tests:\n\n✖ b (0.39061ms)", "2 1 true; +adds numbers -b +in it +/group"},
		{"tap", "1..4\nok 1 - adds\nnot ok 2 - b\nok 3\nok 4 # skip\n# Looks like you failed 1 test of 3.", "2 1 false; +adds -b"},
		{"cargo", "running 3 tests\ntest t::a ... ok\ntest t::c ... ignored\ntest t::b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\nrunning 1 test\ntest src/lib.rs - f (line 1) ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured", "2 1 true; +t::a -t::b +src/lib.rs - f (line 1)"},
		{"rspec", "..F*\n\nFinished in 0.1 seconds (files took 0.2 seconds to load)\n4 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/pay_spec.rb:12 # Pay rounds", "2 1 false; -./spec/pay_spec.rb:12"},
		{"rspec, passed", "....\n\n4 examples, 0 failures", "4 0 false; "},
		{"two runners", "=== 1 failed, 2 passed in 0.04s ===\nTests:       3 passed, 3 total", "5 1 false; "},
		{"colours", "\x1b[31m=== \x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m in 0.04s ===\x1b[0m", "2 1 false; "},
		// no summaries
		{"sentences", "3 tests passed in review\n2 failed attempts\nTests: see the wiki\n1 passed the exam, 2 failed\nTest result: 1 passed", "0 0 true; "},
		{"numbers", "# pass the salt 3\n12 examples of failures\n  3 passing cars\nerrors: 3, total", "0 0 true; "},
		{"nothing", "", "0 0 true; "},
	} {
		var s Stream
		fmt.Fprint(&s, tt.output)
		all, _ := s.Tests()
		c := s.Counts()
		if got := fmt.Sprintf("%d %d %t; %s", c.Passed, c.Failed, c.Complete, spell(all)); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if tests := Tests(tt.output); !strings.Contains(tt.output, "\x1b") && spell(tests) != spell(all) {
			t.Errorf("%s: as a whole %s", tt.name, spell(tests))
		}
	}
}
