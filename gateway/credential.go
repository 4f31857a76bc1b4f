package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/access"
)

// credentialHeaders are where clients put the key of an API.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// presented is the key of Ken that a request brings, "" for none: in X-Ken-Key, or
// where the API's own key would be.
func presented(h http.Header) string {
	if key := h.Get("X-Ken-Key"); key != "" {
		return strings.TrimSpace(key)
	}
	for _, name := range credentialHeaders {
		for _, v := range h[name] {
			if key := credential(name, v); isKey(key) {
				return key
			}
		}
	}
	return ""
}

// credential takes the scheme off a header's value.
func credential(name, value string) string {
	value = strings.TrimSpace(value)
	if name != "Authorization" {
		return value
	}
	scheme, key, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

func isKey(s string) bool { return strings.HasPrefix(s, access.KeyPrefix) }

// clean takes out of the headers for the upstream what is for Ken alone, its keys
// first. brought reports whether one of them stood where the API's key would be, or
// in X-Ken-Key.
func clean(h http.Header) (brought bool) {
	for name, values := range h {
		switch {
		case name == "X-Ken-Key":
			brought = true
			delete(h, name)
		case name == "X-Ken" || strings.HasPrefix(name, "X-Ken-"):
			delete(h, name)
		case slices.Contains(credentialHeaders, name) && anyKey(name, values):
			brought = true
			delete(h, name)
		}
	}
	return brought
}

func anyKey(name string, values []string) bool {
	for _, v := range values {
		if isKey(credential(name, v)) {
			return true
		}
	}
	return false
}

// lend puts the upstream's key into a request that brings none of its own.
func (u *upstream) lend(h http.Header) {
	if u.key == "" {
		return
	}
	for _, name := range credentialHeaders {
		if len(h[name]) > 0 {
			return
		}
	}
	if u.anthropic {
		h.Set("X-Api-Key", u.key)
	} else {
		h.Set("Authorization", "Bearer "+u.key)
	}
}
