package extract

import (
	"cmp"
	"strconv"
	"strings"
)

// resultBytes is what is read at each end of a tool's result.
const resultBytes = 4 << 10

// failed reports whether a command's result says that it failed, and the last line
// that says why. An exit status decides where there is one; without it, the words
// of test runners and compilers do.
func failed(result string) (bool, string) {
	head := result[:min(len(result), resultBytes)]
	tail := result[max(len(head), len(result)-resultBytes):]
	status, known := exitStatus(head)
	if s, ok := exitStatus(tail); ok {
		status, known = s, ok
	}
	worst, summary := "", "" // the last that names a fault, and the last that only counts it
	for _, part := range [...]string{head, tail} {
		for line := range strings.Lines(part) {
			switch line = strings.TrimSpace(line); {
			case !broken(line):
			case strings.HasPrefix(line, "FAIL"), strings.HasPrefix(line, "make:"), strings.HasPrefix(line, "npm ERR!"):
				summary = line
			default:
				worst = line
			}
		}
	}
	worst = cmp.Or(worst, summary)
	if known {
		return status != 0, clip(squeeze(worst), maxError)
	}
	return worst != "", clip(squeeze(worst), maxError)
}

// exitStatus finds the number behind words such as "exit code".
func exitStatus(s string) (int, bool) {
	low := strings.ToLower(s)
	for _, mark := range [...]string{"exit code", "exit_code", "exitcode", "exit status", "exited with code", "exited with status", "returncode", "return code"} {
		i := strings.LastIndex(low, mark)
		if i < 0 {
			continue
		}
		rest := strings.TrimLeft(low[i+len(mark):], "\"': =\t")
		n := 0
		for n < len(rest) && (digit(rest[n]) || n == 0 && rest[n] == '-') {
			n++
		}
		if code, err := strconv.Atoi(rest[:n]); err == nil {
			return code, true
		}
	}
	return 0, false
}

// broken reports a line of output that says that something failed.
func broken(line string) bool {
	if line == "" || len(line) > 1000 {
		return false
	}
	for _, start := range [...]string{"FAIL", "--- FAIL", "FAILED", "error:", "Error:", "ERROR", "error[", "fatal:", "panic:", "npm ERR!", "make: ***", "Traceback", "AssertionError", "ld:", "undefined:"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	for _, within := range [...]string{": error:", " error: ", "command not found", "No such file or directory", "Permission denied", "permission denied", "cannot find", "Exception:", "Error: ", "undefined: ", " FAILED", "connection refused", "Connection refused"} {
		if strings.Contains(line, within) {
			return true
		}
	}
	return false
}

// clip is the first n characters of s, at a space, with an ellipsis when something
// was left out.
func clip(s string, n int) string {
	if characters(s) <= n {
		return s
	}
	end, count := 0, 0
	for i := range s {
		if count == n-1 {
			end = i
			break
		}
		count++
	}
	if i := strings.LastIndexByte(s[:end], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(s[:end], " ,;:") + "…"
}
