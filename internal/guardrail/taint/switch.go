package taint

import "strings"

// protections are parts of the names of variables that switch protection off, or have
// other code loaded.
var protections = []string{"tls", "ssl", "verify", "insecure", "unauthorized", "preload", "proxy", "trust", "auth_", "_opts", "_options", "sandbox"}

// switches reads assignments to such variables: NODE_TLS_REJECT_UNAUTHORIZED=0.
func (t *tokens) switches(s string) {
	for i := 0; ; {
		eq := strings.IndexByte(s[i:], '=')
		if eq < 0 {
			return
		}
		at := i + eq
		i = at + 1
		from, to := at, i
		for from > 0 && (wordByte(s[from-1]) || s[from-1] == '_') {
			from--
		}
		for to < len(s) && to < i+64 && !separator(s[to]) {
			to++
		}
		if name := s[from:at]; len(name) >= 8 && to > i && strings.Contains(name, "_") && containsAny(name, protections) {
			t.add("a", s[from:to], sure)
		}
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
