package intent

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// Scores of the failure patterns, best first.
const (
	scoreCode   = 6 // exception names, error codes
	scoreExit   = 5
	scorePhrase = 4
	scoreFrame  = 3
	maxFrames   = 3 // of one text: enough to show the place
)

// failures ranks failure patterns: codes and names by themselves, phrases as they are written.
type failures struct {
	ranking
	frames int
}

// addMessage reads a user's text. In prose a failure word is enough for a pattern; in code it must
// look like a report.
func (f *failures) addMessage(text string, words []word) { f.scan(text, words, true) }

// addResult reads the output of a tool, in which prose does not come from the user.
func (f *failures) addResult(text string) {
	var buf [64]word
	f.scan(text, lex(buf[:0], text), false)
}

func (f *failures) scan(text string, words []word, prose bool) {
	f.frames = 0
	covered := -1 // index of the last word in a phrase
	for i := range words {
		w := &words[i]
		name := exceptionName(w.text)
		switch {
		case name != "":
			f.add(name, scoreCode)
		case errorCode(w.text):
			f.add(w.text, scoreCode)
		case f.status(words, i), f.exit(words, i), f.frame(words, i):
			continue
		}
		if i <= covered {
			continue
		}
		switch {
		case isReport(w, name != ""):
			covered = f.phrase(text, words, i, i, i+12)
		case prose && !w.code && name == "" && (failureWords[w.low] || negatedWork(words, i)):
			covered = f.phrase(text, words, max(i-2, covered+1), i, i+4)
		}
	}
}

// phrase adds the words in [a, b) around the failure word at i. The phrase is limited to the word's
// line and sentence, without function words at its ends. It returns the index of its last word.
func (f *failures) phrase(text string, words []word, a, i, b int) int {
	for k := i; k > a; k-- {
		if words[k].first || words[k].opens && !words[k-1].colon {
			a = k
		}
	}
	last := i
	for k := i + 1; k < min(b, len(words)); k++ {
		if words[k].first || words[k].opens && !words[k-1].colon || words[k].end-words[a].start > 120 {
			break
		}
		last = k
	}
	for a < i && analysis.IsStopWord(words[a].low) {
		a++
	}
	end := last
	for end > i && analysis.IsStopWord(words[end].low) {
		end--
	}
	if words[end].end-words[a].start <= 200 && (end > a || !plainFailure(&words[i])) {
		f.add(text[words[a].start:words[end].end], scorePhrase)
	}
	return last
}

// isReport reports whether w begins a report: an exception or failure word before a colon, at the
// start of a line or in capitals.
func isReport(w *word, exception bool) bool {
	if exception {
		return w.colon
	}
	if !failureWords[w.low] {
		return false
	}
	return w.colon || w.first && !isLower(w.text[len(w.text)-1]) || w.first && w.code ||
		len(w.text) > 3 && w.text == strings.ToUpper(w.text)
}

// status adds "HTTP 500" if word i is a status code by its context.
func (f *failures) status(words []word, i int) bool {
	s := words[i].text
	if len(s) != 3 || s[0] != '4' && s[0] != '5' || !isDigit(s[1]) || !isDigit(s[2]) || i == 0 {
		return false
	}
	switch before := words[i-1].low; before {
	case "http", "http/1.1", "http/2", "http/1.0", "status", "statuscode", "status_code":
	case "code":
		if i < 2 || words[i-2].low == "exit" {
			return false
		}
	case "a", "an", "returns", "returned", "got", "get", "getting", "gives", "gave", "with", "the", "error":
		if !statusFollows(words, i) {
			return false
		}
	default:
		return false
	}
	f.add("HTTP "+s, scoreCode)
	return true
}

func statusFollows(words []word, i int) bool {
	if i+1 == len(words) || words[i+1].opens || words[i+1].first {
		return true
	}
	switch words[i+1].low {
	case "error", "errors", "from", "on", "when", "response", "status", "for", "after", "not", "internal", "bad",
		"forbidden", "unauthorized", "service", "gateway", "too":
		return true
	}
	return false
}

// exit adds "exit code 137" for exit codes and exit statuses other than 0.
func (f *failures) exit(words []word, i int) bool {
	s := words[i].text
	if len(s) > 3 || s == "0" || i == 0 || !digits(s) {
		return false
	}
	before := words[i-1].low
	switch {
	case before == "exit_code", before == "exitcode":
	case before == "exited":
	case i >= 2 && (before == "code" || before == "status" || before == "with"):
		switch words[i-2].low {
		case "exit", "exited", "exits", "return", "returned", "with", "non-zero", "nonzero":
		default:
			return false
		}
	default:
		return false
	}
	f.add("exit code "+s, scoreExit)
	return true
}

// frame adds the file and line of a stack frame or of a compiler's message.
func (f *failures) frame(words []word, i int) bool {
	s := words[i].text
	file := location(s)
	var line string
	switch {
	case len(file) < len(s): // log.go:42:7
		n := len(file) + 1
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		line = s[len(file)+1 : n]
	case i > 0 && i+2 < len(words) && words[i-1].text == "File" && words[i+1].text == "line" && digits(words[i+2].text):
		line = words[i+2].text // File "app.py", line 10
	default:
		return false
	}
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 || !extensions[file[dot+1:]] {
		return false
	}
	if len(file) == len(s) || words[i].first || frameLine(words, i) {
		if f.frames++; f.frames <= maxFrames {
			f.add(file+":"+line, scoreFrame)
		}
		return true
	}
	return false
}

// frameLine reports whether the line of word i begins like a stack frame.
func frameLine(words []word, i int) bool {
	for k := i; k >= 0 && i-k < 8; k-- {
		if words[k].first {
			return words[k].text == "at" || words[k].text == "File" || words[k].text == "panic"
		}
	}
	return false
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// exceptionName returns the name of an exception or error type in s, without its package:
// NullPointerException, TypeError, ErrNotFound.
func exceptionName(s string) string {
	if i := strings.LastIndexAny(s, ".:"); i >= 0 {
		s = s[i+1:]
	}
	if len(s) < 6 || !isUpper(s[0]) || s != strings.Trim(s, "_-/") {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) {
			return ""
		}
	}
	switch {
	case len(s) > 9 && strings.HasSuffix(s, "Exception"),
		strings.HasSuffix(s, "Error"),
		strings.HasPrefix(s, "Err") && isUpper(s[3]):
		return s
	}
	return ""
}

// errorCode reports whether s is an error code of a compiler, system or database.
func errorCode(s string) bool {
	if len(s) < 4 || len(s) > 40 || !isUpper(s[0]) && s[0] != '0' {
		return false
	}
	if errnos[s] {
		return true
	}
	n := 0 // number of letters before the digits
	for n < len(s) && isUpper(s[n]) {
		n++
	}
	if rest := strings.TrimPrefix(s[n:], "-"); n > 0 && digits(rest) {
		lengths := codePrefixes[s[:n]]
		return strings.IndexByte(lengths, byte('0'+len(rest)%10)) >= 0
	}
	switch {
	case strings.HasPrefix(s, "0x8") && len(s) == 10:
		return true // a Windows result code
	case strings.HasPrefix(s, "ERR_"), strings.HasPrefix(s, "ERROR_"), strings.HasSuffix(s, "_ERROR"),
		strings.HasSuffix(s, "_EXCEEDED"), strings.HasSuffix(s, "_FAILED"):
		return s == strings.ToUpper(s)
	}
	return false
}

// codePrefixes maps the letters that begin a numbered error code to the possible numbers of digits.
// It is a list, because RFC2616 and SHA256 have the same form.
var codePrefixes = map[string]string{
	"E": "34", "F": "34", "C": "4", "SA": "4", "TS": "45", "CS": "4", "BC": "5", "CA": "4", "LNK": "4", "MSB": "4",
	"NU": "4", "ORA": "5", "NETSDK": "4", "PGRST": "3", "AADSTS": "56", "KB": "67", "CVE": "4", "SQL": "4", "ESLINT": "3",
}

var errnos = analysis.Set(`ECONNREFUSED ECONNRESET ECONNABORTED ENOENT EACCES EPERM EEXIST ENOTDIR EISDIR ENOTEMPTY EINVAL
		EMFILE ENFILE ENOSPC EROFS EPIPE EAGAIN EBUSY EADDRINUSE EADDRNOTAVAIL ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND
		ENOMEM EIO EBADF EINTR EXDEV ELOOP ENAMETOOLONG ERESOLVE ELIFECYCLE EINTEGRITY ENOTSUP EPROTO ECANCELED
		SIGSEGV SIGABRT SIGKILL SIGBUS SIGILL SIGFPE SIGTERM OOMKilled CrashLoopBackOff ImagePullBackOff`)

// plainFailure reports whether a failure word means nothing by itself.
func plainFailure(w *word) bool { return failureWords[w.low] || len(w.low) < 5 }

// failureWords are words that report a failure.
var failureWords = analysis.Set(`error errors fail fails failed failing failure failures fatal crash crashes crashed crashing
		panic panics panicked panicking exception exceptions segfault segfaults timeout timeouts broken bug bugs
		denied refused rejected invalid undefined undeclared unresolved missing cannot unable abort aborted aborting
		deadlock deadlocks leak leaks leaking hangs freezes corrupt corrupted unauthorized forbidden overflow
		regression flaky mismatch unexpected unreachable`)

// negatedWork reports whether a phrase such as "doesn't work", "won't compile", "not found" or
// "timed out" begins at i.
func negatedWork(words []word, i int) bool {
	if i+1 >= len(words) || words[i+1].first || words[i+1].opens {
		return false
	}
	next := words[i+1].low
	switch s := words[i].low; {
	case s == "timed":
		return next == "out"
	case s == "no":
		return next == "such"
	case words[i].not, s == "not", s == "never":
		return workWords[next]
	}
	return false
}

var workWords = analysis.Set(`work works working start starts starting compile compiles build builds load loads loading
		run runs running connect connects respond responds found recognized recognised permitted allowed defined
		supported exist exists match resolve save open return returning update updating pass passing render`)
