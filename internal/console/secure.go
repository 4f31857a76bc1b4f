package console

import (
	"crypto/rand"
	"net/http"
)

// policy lets a page have what this origin serves, and nothing else: no inline script
// or style, no frame around it, no form to elsewhere. Markup that a script puts into
// the page has to pass the one policy that console.js declares for what it fetched.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ken"

// secure sets what keeps a browser from doing more with a page than to show it.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // what is searched for is in the address
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// secret is 256 random bits.
func secret() (b [32]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}
