package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A gateway without keys trusts whoever can connect to it, which a web page in a
// browser on this machine can: by a name that its owner points at 127.0.0.1, or by
// sending a request without asking for the answer. Both tell on themselves in the
// headers Host and Origin.

// addressed reports whether a request is meant for this machine, or for one of the
// names configured. What came over a Unix socket is: no browser can open one.
func addressed(r *http.Request, names []string) *fault {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return nil
	}
	if known(hostOf(r.Host), names) {
		return checkOrigin(r, names)
	}
	return &fault{status: http.StatusMisdirectedRequest, code: "unknown_host", msg: "this gateway is not known by the name in the header Host",
		try: "Use localhost, add the name to gateway.hosts, or configure gateway.keys."}
}

// checkOrigin refuses what a browser sends for a page that came from elsewhere.
func checkOrigin(r *http.Request, names []string) *fault {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "cross-site" {
			return nil
		}
	} else if u, err := url.Parse(origin); err == nil && known(strings.ToLower(u.Hostname()), names) {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: "foreign_origin", msg: "this gateway serves no web pages from elsewhere",
		try: "Call it from a program, or configure gateway.keys."}
}

// hostOf is a Host header without its port, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

func known(host string, names []string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}
