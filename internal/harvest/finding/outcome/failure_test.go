package outcome

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFailedCalls(t *testing.T) {
	for output, want := range map[string]string{
		"<tool_use_error>File has not been read yet.</tool_use_error>":                     "File has not been read yet.",
		"<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>": "String to replace not found in file.",
		"Error: ENOENT: no such file or directory, open '/src/x.go'":                       "Error: ENOENT: no such file or directory, open '/src/x.go'",
		"Error:\n  old_string not found in store/log.go":                                   "old_string not found in store/log.go",
		"File does not exist.":                                 "File does not exist.",
		"cat: x.go: No such file or directory":                 "cat: x.go: No such file or directory",
		"x.go: No such file or directory":                      "x.go: No such file or directory",
		"bash: gotestsum: command not found":                   "bash: gotestsum: command not found",
		"Invalid Context 0:\n func Open(":                      "Invalid Context 0:",
		"Command timed out after 2m 0.0s":                      "Command timed out after 2m 0.0s",
		"The user doesn't want to proceed with this tool use.": "The user doesn't want to proceed with this tool use.",
		`{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories"}]}`: "Access denied - path outside allowed directories",
		`{"success":false,"message":"no match\nat line 3"}`:                                                      "no match",
		`{"error":{"message":"not allowed"}}`:                                                                    "not allowed",
		`{"error":"disk full"}`:                                                                                  "disk full",
	} {
		line, failed := Failed(output)
		if !failed && want != "" || line != want {
			t.Errorf("%q: %q, %v; want %q", output, line, failed, want)
		}
	}
}

// A file about errors is no error: its content would be lost as a finding.
func TestWhatSpeaksOfErrorsHasNotFailed(t *testing.T) {
	for _, output := range []string{
		"", "package store\n\n// Error: is a thing", "     1\tpackage errors", "# Error handling\n\nFailed to read means …", "errors.go\nerror_test.go",
		"ok", "Found 3 files", `{"content":"Error: in a file"}`, `{"success":true,"error":null}`, `{"error":""}`, "The file a.go has been updated.", "not json {",
	} {
		if line, failed := Failed(output); failed {
			t.Errorf("%q failed: %q", output, line)
		}
	}
}

func TestErrorLineIsTheCause(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"go compiler", "# pay/store\nstore/log.go:42:7: undefined: openLog\nstore/log.go:50:2: missing return\nFAIL\tpay/store [build failed]", "store/log.go:42:7: undefined: openLog"},
		{"go test", "=== RUN   TestRound\n    money_test.go:17: got 1.00, want 1.01\n--- FAIL: TestRound (0.00s)\nFAIL\nexit status 1\nFAIL\tpay/money\t0.2s", "money_test.go:17: got 1.00, want 1.01"},
		{"python", "Traceback (most recent call last):\n  File \"seed.py\", line 3, in <module>\n    import psycopg\nModuleNotFoundError: No module named 'psycopg'", "ModuleNotFoundError: No module named 'psycopg'"},
		{"pytest", "____ test_x ____\n>       assert a == b\nE       assert 1 == 2\n\nFAILED test_x.py::test_x - assert 1 == 2\n==== 1 failed in 0.1s ====", "E       assert 1 == 2"},
		{"node", "node:internal/modules/cjs/loader:1080\n  throw err;\n  ^\n\nError: Cannot find module 'express'\nRequire stack:\n- /src/a.js", "Error: Cannot find module 'express'"},
		{"typescript", "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n\nFound 1 error.", "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."},
		{"rust", "   Compiling pay v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:3:14", "error[E0308]: mismatched types"},
		{"docker", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"},
		{"shell", "Exit code 127\n/bin/bash: line 1: golangci-lint: command not found", "/bin/bash: line 1: golangci-lint: command not found"},
		{"make last", "cc -o x x.c\nx.c:1:1: error: unknown type name 'foo'\nmake: *** [Makefile:2: x] Error 1", "x.c:1:1: error: unknown type name 'foo'"},
		{"only make", "sh run.sh\nmake: *** [Makefile:2: x] Error 1", "make: *** [Makefile:2: x] Error 1"},
		{"panic", "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:8 +0x1d", "panic: runtime error: index out of range [5] with length 3"},
		{"codex json", `{"output":"x\nfatal: not a git repository","metadata":{"exit_code":128}}`, "fatal: not a git repository"},
		{"nothing", "Exit code 1\n", ""},
		{"prose", "it went well", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ErrorLine(tt.output); got != strings.Join(strings.Fields(tt.want), " ") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzErrorLine(f *testing.F) {
	for _, s := range []string{"a.go:1:2: x", "Error:", "<error></error>", `{"error":{}}`, `{"isError":true}`, "E   x", "\xff: command not found"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, failed := Failed(s)
		if !failed && line != "" {
			t.Errorf("no failure, and %q", line)
		}
		for _, l := range []string{line, ErrorLine(s)} {
			if utf8.RuneCountInString(l) > MaxErrorLine || strings.Contains(l, "\n") {
				t.Errorf("%q", l)
			}
		}
	})
}
