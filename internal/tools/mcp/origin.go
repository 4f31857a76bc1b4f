package mcpserver

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// allowedOrigin reports whether a request may come from where it says that it comes
// from: no web page at all, one of the same host, one of those that are allowed, or, on
// loopback, another program's page on loopback, such as an inspector's.
func allowedOrigin(req *http.Request, allowed []string) bool {
	values := req.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	origin := values[0]
	if slices.Contains(allowed, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, req.Host) || loopback(u.Host) && loopback(req.Host)
}

// loopback reports a host, with or without a port, that is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
