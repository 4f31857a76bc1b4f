package gateway

import (
	"cmp"
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
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// authenticator identifies the caller of a request by its key.
type authenticator struct {
	ring  *access.Ring // nil if no keys are configured
	owner string       // the owner of callers that name none
	local *access.Hash // hash of Options.LocalKey; nil if there is none
}

// keyed reports whether a request needs a key.
func (d *authenticator) keyed() bool { return d.ring != nil || d.local != nil }

// isLocal reports whether a key, "" for none, gives the rights of the person who runs the gateway.
func (d *authenticator) isLocal(key string) bool {
	if d.local == nil {
		return d.ring == nil
	}
	h := access.HashKey(key)
	return subtle.ConstantTimeCompare(h[:], d.local[:]) == 1
}

// newRing returns the configured keys; nil if there are none. owner is the owner of keys that name
// none. It returns ErrInvalid for an invalid hash or right.
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
		p.Owner = cmp.Or(p.Owner, owner)
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

// maxName is the maximum length in bytes of names in headers: owner, session, branch and so on.
const maxName = 256

// identify returns the caller of a request. If there are keys, the key determines the owner, and
// headers can't change it. If there are none, every caller has every right and may choose the
// owner. The bearer of Options.LocalKey always may.
func (d *authenticator) identify(h http.Header) (access.Principal, *fault) {
	project, f := nameHeader(h, "X-Ken-Project")
	if f != nil {
		return access.Principal{}, f
	}
	key := requestKey(h)
	if d.isLocal(key) {
		p := access.Principal{Name: access.Local, Owner: d.owner, Project: project, Rights: access.Rights()}
		// An empty one is a mistake of the sender, and must not lead to the knowledge of the configured owner.
		if owners := h.Values("X-Ken-Owner"); len(owners) > 0 {
			if !access.ValidOwner(owners[0]) {
				return access.Principal{}, badHeader("X-Ken-Owner", "Use "+access.OwnerForm+", or leave it out.")
			}
			p.Owner = owners[0]
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
	p.Project = cmp.Or(p.Project, project)
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
	session   string // "" if no header names it
	parent    string // the parent session of a sub-agent
	agent     string
	branch    string
	scopes    []ken.Scope // nil means the configured ones
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
	// Any value except those for "no" means incognito, because the client asked for privacy.
	a.incognito = h.Get("X-Ken-Incognito") != "" && !headerIs(h, "X-Ken-Incognito", "off", "false", "0", "no")
	a.scopes, f = parseScopes(h["X-Ken-Scopes"], allowed)
	return f
}

// addAgentNames fills in names that the agent itself sends, where Ken's own headers have none.
func (a *turnHeaders) addAgentNames(h http.Header) {
	n := wire.NamesIn(h)
	if a.session == "" {
		a.session, a.parent = n.Session, n.Parent
	}
	a.agent = cmp.Or(a.agent, n.Agent)
}

// headerIs reports whether a header has one of the given values, ignoring case.
func headerIs(h http.Header, name string, words ...string) bool {
	v := strings.TrimSpace(h.Get(name))
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(v, w) })
}

// turn returns the turn that the headers describe: project, session, agent, branch and scopes. who
// sent the request.
func (a *turnHeaders) turn(who access.Principal) ken.Turn {
	key := who.Name
	if key == access.Local {
		key = "" // callers without a key share their turns
	}
	return ken.Turn{Owner: who.Owner, Key: key, Project: who.Project, Session: a.session, Parent: a.parent, Agent: a.agent, Branch: a.branch, Scopes: a.scopes, Incognito: a.incognito}
}

// noScope is a scope that no claim has. A turn that only asks for scopes it may not see gets this
// one, and so sees only unscoped claims.
var noScope = ken.Scope{Type: ken.ScopeRun, ID: "\x00"}

// parseScopes returns the requested scopes that are allowed; nil allowed means all. An invalid
// header is a fault, because ignoring it would show more than the client asked for.
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

// requestKey returns the Ken key of a request; "" if there is none. It is in X-Ken-Key or in one of
// credentialHeaders.
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

// stripHeaders removes Ken's headers and keys before the request goes to the upstream. brought
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
	return slices.ContainsFunc(values, func(v string) bool { return isKey(credential(name, v)) })
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

// A gateway without keys trusts everyone who can connect to it. A web page in a browser on this
// machine can do that: through a host name that its owner points to 127.0.0.1, or by sending a
// request without reading the answer. The headers Host and Origin reveal both.

// checkHost refuses a request whose Host is neither this machine nor a configured name. It accepts
// requests over a Unix socket, which browsers can't open.
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
