package intent

import "strings"

// exceptionName returns the name of an exception or error type in s, without the
// package before it: NullPointerException, TypeError, ErrNotFound.
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

// errorCode recognises the codes of compilers, systems and databases.
func errorCode(s string) bool {
	if len(s) < 4 || len(s) > 40 || !isUpper(s[0]) && s[0] != '0' {
		return false
	}
	if errnos[s] {
		return true
	}
	n := 0 // letters before the digits
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

// codePrefixes are letters that start a numbered error code, with the numbers of
// digits that follow. A list, because RFC2616 and SHA256 look the same.
var codePrefixes = map[string]string{
	"E": "34", "F": "34", "C": "4", "SA": "4", "TS": "45", "CS": "4", "BC": "5", "CA": "4", "LNK": "4", "MSB": "4",
	"NU": "4", "ORA": "5", "NETSDK": "4", "PGRST": "3", "AADSTS": "56", "KB": "67", "CVE": "4", "SQL": "4", "ESLINT": "3",
}

var errnos = set(`ECONNREFUSED ECONNRESET ECONNABORTED ENOENT EACCES EPERM EEXIST ENOTDIR EISDIR ENOTEMPTY EINVAL
		EMFILE ENFILE ENOSPC EROFS EPIPE EAGAIN EBUSY EADDRINUSE EADDRNOTAVAIL ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND
		ENOMEM EIO EBADF EINTR EXDEV ELOOP ENAMETOOLONG ERESOLVE ELIFECYCLE EINTEGRITY ENOTSUP EPROTO ECANCELED
		SIGSEGV SIGABRT SIGKILL SIGBUS SIGILL SIGFPE SIGTERM OOMKilled CrashLoopBackOff ImagePullBackOff`)

// plainFailure reports failure words that say nothing alone.
func plainFailure(w *word) bool { return failureWords[w.low] || len(w.low) < 5 }

// failureWords say that something went wrong.
var failureWords = set(`error errors fail fails failed failing failure failures fatal crash crashes crashed crashing
		panic panics panicked panicking exception exceptions segfault segfaults timeout timeouts broken bug bugs
		denied refused rejected invalid undefined undeclared unresolved missing cannot unable abort aborted aborting
		deadlock deadlocks leak leaks leaking hangs freezes corrupt corrupted unauthorized forbidden overflow
		regression flaky mismatch unexpected unreachable`)

// negatedWork recognises "doesn't work", "won't compile", "not found", "timed out".
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

var workWords = set(`work works working start starts starting compile compiles build builds load loads loading
		run runs running connect connects respond responds found recognized recognised permitted allowed defined
		supported exist exists match resolve save open return returning update updating pass passing render`)
