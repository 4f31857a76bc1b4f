package outcome

import (
	"strings"
	"testing"
)

// The frames that agents put around a command's output, as they write them.
func TestExitOfEveryFrame(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		want         int
	}{
		{"claude code, failed", "Exit code 1\nFAIL\tpay/store\t0.2s\nFAIL", 1},
		{"codex shell", `{"output":"ok","metadata":{"exit_code":0,"duration_seconds":0.1}}`, 0},
		{"codex shell, as text", "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nmake: *** [all] Error 1", 2},
		{"codex exec", "Chunk ID: 4f2a\nWall time: 1.2 seconds\nProcess exited with code 1\nOriginal token count: 12\nOutput:\nboom", 1},
		{"gemini", "Command: go vet ./...\nDirectory: (root)\nStdout: (empty)\nStderr: x\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711", 1},
		{"openhands", "ok\n[The command completed with exit code 0.]\n[Current working directory: /src]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 0]", 0},
		{"roo", "Command executed in terminal 1 within working directory '/src'. Exit code: 127\nOutput:\nbash: foo: command not found", 127},
		{"cursor", "Exit code: 0\n\nCommand output:\n\n```\nok\n```", 0},
		{"crush", "<output>\nno such file\nExit code 1\n</output>\n<cwd>/src</cwd>", 1},
		{"mini swe agent", "<returncode>3</returncode>\n<output>\nx\n</output>", 3},
		{"bracket", "boom\n[exit code 1]", 1},
		{"parenthesis", "boom\n(exit code: 130)", 130},
		{"go run", "panic: x\n\ngoroutine 1 [running]:\nexit status 2", 2},
		{"negative", "killed\nProcess exited with code -9.", -9},
		{"windows", "Command failed with exit code 3221225477", 3221225477},
		{"kimi", "Command failed with exit code: 1.\nboom", 1},
		{"json, camel", `{"stdout":"","stderr":"boom","exitCode":2}`, 2},
		{"json, python", `{"returncode": 0, "stdout": "exit code: 7"}`, 0},
		{"json, mcp", `{"content":[{"type":"text","text":"boom\nExit code: 4"}],"isError":true}`, 4},
		{"json, mcp structured", `{"content":[{"type":"text","text":"x"}],"structuredContent":{"exitCode":5}}`, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Exit(tt.output); !ok || got != tt.want {
				t.Errorf("%d, %v; want %d", got, ok, tt.want)
			}
		})
	}
}

// What a program prints is not its exit code: a log that quotes one would count
// as proof.
func TestUnknownExitIsUnknown(t *testing.T) {
	for name, output := range map[string]string{
		"empty":                      "",
		"plain output":               "ok  \tpay/store\t0.2s",
		"in the middle":              "starting\nexit code: 1\nretrying\ndone",
		"in a sentence":              "the job has exit code 1 when the disk is full",
		"a log":                      "10:00 worker: process exited with code 1, restarting\n10:01 worker up\n10:02 ready",
		"codex, printed":             "Chunk ID: 1\nWall time: 1 seconds\nOutput:\nExit code: 3\nand so on",
		"codex, still running":       "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\n",
		"gemini, none":               "Command: x\nDirectory: (root)\nOutput: y\nExit Code: (none)\nSignal: 9",
		"source code":                "func main() {\n\tos.Exit(1)\n}",
		"json without":               `{"stdout":"exit code: 1","ok":true}`,
		"json, no integer":           `{"exit_code":"1"}`,
		"json, fraction":             `{"exit_code":0.5}`,
		"json cut short":             `{"output":"abc","metadata":{"exit_co`,
		"json with json as a string": `{"output":"{\"exit_code\":1}"}`,
		"number too long":            "Exit code: 99999999999999999999",
		"a long line":                "exit code: 1 " + strings.Repeat(" ", 400) + ".",
	} {
		if got, ok := Exit(output); ok {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func FuzzExit(f *testing.F) {
	for _, s := range []string{"Exit code 1", "Exit code: 0\nOutput:\n", `{"exit_code":1}`, `{"content":[{"text":"{\"exit_code\":1}"}]}`, "[exit code 1]", "a\nexit status 2\n", "\n\n\n", "<returncode>1</returncode>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, ok := Exit(s)
		if !ok && code != 0 {
			t.Errorf("unknown is %d", code)
		}
		if again, okAgain := Exit("  " + s + "\n"); again != code || ok != okAgain {
			t.Errorf("white space around it changes %d, %v to %d, %v", code, ok, again, okAgain)
		}
	})
}
