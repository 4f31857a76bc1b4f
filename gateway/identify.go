package gateway

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// authenticator identifies the caller of a request by its key.
type authenticator struct {
	ring  *access.Ring // nil: no keys are configured
	owner string       // of who names none
	local *access.Hash // of Options.LocalKey; nil: there is none
}

// keyed reports whether a request needs a key.
func (d *authenticator) keyed() bool { return d.ring != nil || d.local != nil }

// isLocal reports whether a request with this key, "" for none, comes from whoever runs the gateway.
func (d *authenticator) isLocal(key string) bool {
	if d.local == nil {
		return d.ring == nil
	}
	h := access.HashKey(key)
	return subtle.ConstantTimeCompare(h[:], d.local[:]) == 1
}

// newRing returns the keys of a configuration, nil when there are none. owner is the owner of
// keys that name none. Errors: ErrInvalid for a hash or a right that can't be read.
func newRing(keys []config.GatewayKey, owner string) (*access.Ring, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	entries := make([]access.Entry, len(keys))
	for i, k := range keys {
		h, err := access.ParseHash(k.Hash)
		if err != nil {
			return nil, err
		}
		p := access.Principal{Name: k.Name, Owner: k.Owner, Project: k.Project, Rights: []access.Right{access.Chat, access.Read, access.Write}}
		p.Models, p.Expires, p.RequestsPerDay, p.TokensPerDay = k.Models, k.Expires, k.RequestsPerDay, k.TokensPerDay
		if p.Owner == "" {
			p.Owner = owner
		}
		if len(k.Rights) > 0 {
			p.Rights = make([]access.Right, len(k.Rights))
			for j, s := range k.Rights {
				if p.Rights[j], err = access.ParseRight(s); err != nil {
					return nil, err
				}
			}
		}
		entries[i] = access.Entry{Hash: h, Principal: p}
	}
	return access.NewRing(entries...), nil
}

// maxName bounds the headers that name something: an owner, a session, a branch.
const maxName = 256

var ownerForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`)

// identify returns the caller of a request. With keys, the owner is the key's, whatever a
// header says. Without keys, every caller has every right and names the owner, and so has
// the bearer of Options.LocalKey.
func (d *authenticator) identify(h http.Header) (access.Principal, *fault) {
	project, f := nameHeader(h, "X-Ken-Project")
	if f != nil {
		return access.Principal{}, f
	}
	key := requestKey(h)
	if d.isLocal(key) {
		p := access.Principal{Name: access.Local, Owner: d.owner, Project: project, Rights: access.Rights()}
		if owner := h.Get("X-Ken-Owner"); owner != "" {
			if !ownerForm.MatchString(owner) {
				return access.Principal{}, badHeader("X-Ken-Owner", "Use at most 128 letters, digits and . _ @ - that start with a letter or digit.")
			}
			p.Owner = owner
		}
		return p, nil
	}
	if key == "" {
		return access.Principal{}, &fault{status: http.StatusUnauthorized, code: "missing_key", msg: "this gateway needs a key",
			try: "Send it in the header X-Ken-Key, or instead of the API's key."}
	}
	var p access.Principal
	ok := false
	if d.ring != nil {
		p, ok = d.ring.Find(key)
	}
	if !ok {
		return access.Principal{}, &fault{status: http.StatusUnauthorized, code: "unknown_key", msg: "nobody here has this key",
			try: "Ask who runs the gateway for a key; ken key create makes one."}
	}
	if p.Project == "" {
		p.Project = project
	}
	return p, nil
}

// nameHeader reads a header that holds a name.
func nameHeader(h http.Header, name string) (string, *fault) {
	v := strings.TrimSpace(h.Get(name))
	if len(v) > maxName || !utf8.ValidString(v) {
		return "", badHeader(name, "Use at most "+strconv.Itoa(maxName)+" bytes of UTF-8.")
	}
	return v, nil
}

func badHeader(name, try string) *fault {
	return &fault{status: http.StatusBadRequest, code: "invalid_header", msg: "the header " + name + " can't be read", try: try}
}

// turnHeaders holds the headers of a request that describe its turn.
type turnHeaders struct {
	session   string // "" when no header names it
	parent    string // of a sub-agent's session
	agent     string
	branch    string
	scopes    []ken.Scope // nil: as configured
	off, on   bool
	incognito bool
}

// parse reads the headers that describe a turn. allowed are the configured scopes.
func (a *turnHeaders) parse(h http.Header, allowed []ken.Scope) *fault {
	var f *fault
	for name, to := range map[string]*string{"X-Ken-Session": &a.session, "X-Ken-Agent": &a.agent, "X-Ken-Branch": &a.branch} {
		if h[name] == nil {
			continue
		}
		if *to, f = nameHeader(h, name); f != nil {
			return f
		}
	}
	a.addAgentNames(h)
	a.off = headerIs(h, "X-Ken", "off", "false", "0", "no")
	a.on = headerIs(h, "X-Ken", "on", "true", "1", "yes")
	// Whoever sets it to anything but "no" wants to be left alone.
	a.incognito = h.Get("X-Ken-Incognito") != "" && !headerIs(h, "X-Ken-Incognito", "off", "false", "0", "no")
	a.scopes, f = parseScopes(h["X-Ken-Scopes"], allowed)
	return f
}

// addAgentNames fills in the names that the agent sends by itself, where Ken's own headers
// give none.
func (a *turnHeaders) addAgentNames(h http.Header) {
	n := wire.NamesIn(h)
	if a.session == "" {
		a.session, a.parent = n.Session, n.Parent
	}
	if a.agent == "" {
		a.agent = n.Agent
	}
}

// headerIs reports whether a header has one of some values.
func headerIs(h http.Header, name string, words ...string) bool {
	v := strings.TrimSpace(h.Get(name))
	for _, w := range words {
		if strings.EqualFold(v, w) {
			return true
		}
	}
	return false
}

// TurnOf returns the turn that a request's headers describe, for a handler that is mounted
// beside the proxy: project, session, agent, branch and scopes. The owner is who's. allowed
// are the configured scopes, nil for all. The error is ErrRefused, for a header that can't
// be read.
func TurnOf(h http.Header, who access.Principal, allowed []ken.Scope) (ken.Turn, error) {
	var a turnHeaders
	if f := a.parse(h, allowed); f != nil {
		return ken.Turn{}, &ken.Error{Code: ken.CodeRefused, Msg: f.msg, Try: f.try}
	}
	return a.turn(who), nil
}

func (a *turnHeaders) turn(who access.Principal) ken.Turn {
	key := who.Name
	if key == access.Local {
		key = "" // whoever has no key has no turns of their own
	}
	return ken.Turn{Owner: who.Owner, Key: key, Project: who.Project, Session: a.session, Parent: a.parent, Agent: a.agent, Branch: a.branch, Scopes: a.scopes, Incognito: a.incognito}
}

// noScope is a scope that no claim has. A turn that asks only for scopes that it may not see
// gets it, and so only unscoped claims.
var noScope = ken.Scope{Type: ken.ScopeRun, ID: "\x00"}

// parseScopes returns the scopes asked for that are allowed; nil allowed means all. A
// header that can't be read is a fault: to ignore it would show more than wanted.
func parseScopes(values []string, allowed []ken.Scope) ([]ken.Scope, *fault) {
	if len(values) == 0 {
		return nil, nil
	}
	out := []ken.Scope{}
	for _, v := range values {
		for s := range strings.SplitSeq(v, ",") {
			sc, err := ken.ParseScope(strings.TrimSpace(s))
			if err != nil || sc.IsZero() || len(s) > maxName {
				return nil, badHeader("X-Ken-Scopes", "Write them as in repo:github.com/acme/payments, project:payments.")
			}
			if allowed == nil || slices.Contains(allowed, sc) {
				out = append(out, sc)
			}
		}
	}
	if len(out) == 0 {
		out = append(out, noScope)
	}
	return out, nil
}

// credentialHeaders are the headers in which clients send an API key.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// requestKey returns the Ken key of a request, "" for none. It is in X-Ken-Key or in a
// header for an API key.
func requestKey(h http.Header) string {
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

// credential returns a header's value without its scheme.
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

// stripHeaders removes Ken's headers and keys from the headers for the upstream. brought
// reports whether the request had a Ken key.
func stripHeaders(h http.Header) (brought bool) {
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

// addKey sets the upstream's key on a request that has none of its own.
func (u *upstream) addKey(h http.Header) {
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

// A gateway without keys trusts whoever can connect to it, which a web page in a
// browser on this machine can: by a name that its owner points at 127.0.0.1, or by
// sending a request without asking for the answer. Both tell on themselves in the
// headers Host and Origin.

// checkHost refuses a request whose Host is neither this machine nor a configured name. A
// request over a Unix socket passes: no browser can open one.
func checkHost(r *http.Request, names []string) *fault {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return nil
	}
	if knownHost(hostOf(r.Host), names) {
		return checkOrigin(r, names)
	}
	return &fault{status: http.StatusMisdirectedRequest, code: "unknown_host", msg: "this gateway is not known by the name in the header Host",
		try: "Use localhost, add the name to gateway.hosts, or configure gateway.keys."}
}

// checkOrigin refuses a request that a browser sends for a page of another origin.
func checkOrigin(r *http.Request, names []string) *fault {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "cross-site" {
			return nil
		}
	} else if u, err := url.Parse(origin); err == nil && knownHost(strings.ToLower(u.Hostname()), names) {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: "foreign_origin", msg: "this gateway serves no web pages from elsewhere",
		try: "Call it from a program, or configure gateway.keys."}
}

// hostOf returns a Host header without its port, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

func knownHost(host string, names []string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}
