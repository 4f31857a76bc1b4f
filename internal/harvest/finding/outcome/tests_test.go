package outcome

import (
	"strings"
	"testing"
)

func spell(ts []Test) string {
	var out []string
	for _, t := range ts {
		s := "-"
		if t.Passed {
			s = "+"
		}
		if t.Group {
			s += "/"
		}
		out = append(out, s+t.Name)
	}
	return strings.Join(out, " ")
}

func TestTestsOfEveryRunner(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"go", "ok  \tpay/store\t0.213s\nok  \tpay/money\t(cached)\n?   \tpay/cmd\t[no test files]\nFAIL\tpay/web [build failed]\nFAIL", "+/pay/store +/pay/money -/pay/web"},
		{"go, coverage", "ok  \tpay/store\t1.2s\tcoverage: 80.1% of statements", "+/pay/store"},
		{"go -v", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/empty\n    --- FAIL: TestB/empty (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\npay/store 0.1s", "+TestA -TestB/empty -TestB"},
		{"go -json", `{"Time":"x","Action":"run","Package":"pay","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"pay","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"pay"}` + "\n" + `{"Action":"pa`, "+TestA -/pay"},
		{"go, run twice", "--- FAIL: TestA (0.00s)\n--- PASS: TestA (0.01s)", "+TestA"},
		{"pytest -v", "tests/test_a.py::test_x PASSED   [ 50%]\ntests/test_a.py::test_y[1] FAILED [100%]\nFAILED tests/test_a.py::test_y[1] - assert 1 == 2", "+tests/test_a.py::test_x -tests/test_a.py::test_y[1]"},
		{"pytest", "tests/test_a.py ..s.    [ 66%]\ntests/test_b.py .F    [100%]\n=== 1 failed, 4 passed in 0.12s ===", "+/tests/test_a.py -/tests/test_b.py"},
		{"jest", "PASS src/a.test.ts\n  Button\n    ✓ renders (12 ms)\n    ✕ clicks (3 ms)\nFAIL src/b.spec.js (5.2 s)\nTests: 1 failed", "+/src/a.test.ts +renders -clicks -/src/b.spec.js"},
		{"vitest", " ✓ src/a.test.ts (3 tests) 5ms\n ❯ src/b.test.ts (2 tests | 1 failed) 9ms\n   × adds 4ms\n Test Files  1 failed", "+/src/a.test.ts -/src/b.test.ts -adds"},
		{"cargo", "running 2 tests\ntest money::rounds ... ok\ntest money::splits ... FAILED\ntest slow ... ignored\n\ntest result: FAILED. 1 passed; 1 failed", "+money::rounds -money::splits"},
		{"rspec", "..F\n\nFailed examples:\n\nrspec ./spec/pay_spec.rb:12 # Pay rounds\n", "-./spec/pay_spec.rb:12"},
		{"tap", "TAP version 13\nok 1 - adds numbers\nnot ok 2 - splits\nok 3 - slow # SKIP", "+adds numbers -splits"},
		{"junit", `<testsuite tests="3"><testcase classname="pay.Money" name="rounds" time="0.1"/><testcase name="splits" classname="pay.Money"><failure message="x"/></testcase><testcase name="s"><skipped/></testcase></testsuite>`, "+pay.Money.rounds -pay.Money.splits"},
		{"in a structured result", `{"output":"--- PASS: TestA (0.00s)\nok  \tpay\t0.1s\n","metadata":{"exit_code":0}}`, "+TestA +/pay"},
		{"windows line ends", "--- PASS: TestA (0.00s)\r\nok  \tpay\t0.1s\r\n", "+TestA +/pay"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := spell(Tests(tt.output)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A word that runners use is not yet a test.
func TestWhatIsNoTestOutput(t *testing.T) {
	for _, output := range []string{
		"", "ok", "okay then", "FAIL", "PASS", "it is ok 5 times", "everything passed", "ok, pay 0.1s", "test the waters ... ok then", "error: FAIL",
		"{\"Action\":\"pass\"}", "func TestA(t *testing.T) {", "- [✓] done", "vite v5.4.0 building for production...\n✓ 31 modules transformed.\n✓ built in 2.31s", "+--- PASS: TestA (0.00s)", strings.Repeat("x", 2000) + "--- PASS: TestA (0.00s)",
	} {
		if got := Tests(output); len(got) != 0 {
			t.Errorf("%q: %s", output, spell(got))
		}
	}
}

func TestTestsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3 * MaxTests {
		b.WriteString("--- PASS: Test" + strings.Repeat("x", i%7) + string(rune('A'+i%26)) + strings.Repeat("y", i/26) + " (0.00s)\n")
	}
	if got := len(Tests(b.String())); got != MaxTests {
		t.Errorf("%d", got)
	}
}

func FuzzTests(f *testing.F) {
	for _, s := range []string{"ok  \tpay\t0.1s", "--- FAIL: A (0s)", "<testcase name=\"a\">", "<testcase name=\"a\"/><testcase", "✓ a b", "ok 1 - abc", `{"Action":"pass","Package":"p"}`, "a.py ... [100%]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		seen := map[string]bool{}
		for _, test := range Tests(s) {
			if test.Name == "" || test.Name != strings.TrimSpace(test.Name) || strings.Contains(test.Name, "\n") && !strings.Contains(s, "<testcase") || seen[test.Name] {
				t.Errorf("%+v", test)
			}
			seen[test.Name] = true
		}
	})
}
