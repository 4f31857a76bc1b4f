package taint

import "strings"

// wellKnown are hosts that many texts name, so that the name alone is not
// distinctive; an address with a path is.
var wellKnown = set(`
	localhost 127.0.0.1 0.0.0.0 ::1 example.com example.org example.net
	github.com gitlab.com bitbucket.org raw.githubusercontent.com gist.github.com githubusercontent.com api.github.com codeberg.org
	google.com googleapis.com storage.googleapis.com amazonaws.com s3.amazonaws.com azure.com microsoft.com apple.com cloudflare.com
	api.openai.com openai.com api.anthropic.com anthropic.com huggingface.co
	stackoverflow.com wikipedia.org en.wikipedia.org reddit.com youtube.com medium.com
	mozilla.org developer.mozilla.org
	golang.org go.dev python.org docs.python.org rust-lang.org nodejs.org kubernetes.io docker.com docker.io ubuntu.com debian.org
	gmail.com outlook.com hotmail.com yahoo.com icloud.com proton.me
`)

// standards are hosts whose addresses are used as names, in licences and schemas.
var standards = set(`w3.org schema.org json-schema.org apache.org gnu.org ietf.org opensource.org xmlns.com purl.org schemas.microsoft.com schemas.android.com`)

// withoutStandards removes the addresses of standards, which are in every schema.
func withoutStandards(s string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			break
		}
		i, at = at+i, at+i+3
		end := at
		for end < len(s) && end-at < maxHost && s[end] != '/' && !isSeparator(s[end]) {
			end++
		}
		if !standards[strings.TrimPrefix(s[at:end], "www.")] {
			continue
		}
		for end < len(s) && !isSeparator(s[end]) {
			end++
		}
		b.WriteString(s[done:i])
		done, at = end, end
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// endings are top-level domains by which a name is recognised as a host without a
// scheme. Those that are also names of methods, fields or files, such as .info,
// .name or .sh, are left out.
var endings = set(`
	com net org io dev ai co xyz biz ru cn tk ml ga cf eu de uk fr nl es pl ca jp kr br ch cz edu gov mil onion site online tech
`)

// address reads a URL, or a host with or without a path, and reports whether it is
// certainly one.
func (t *tokens) address(c string) bool {
	_, rest, scheme := strings.Cut(c, "://")
	if !scheme {
		rest = c
	}
	rest = strings.TrimLeft(rest, "/")
	if i := strings.IndexByte(rest, '@'); i >= 0 && !strings.Contains(rest[:i], "/") { // user and password
		rest = rest[i+1:]
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.IndexAny(host, "?#"); i >= 0 {
		host, path = host[:i], ""
	}
	name, _, _ := strings.Cut(host, ":")
	name = strings.TrimPrefix(strings.TrimSuffix(name, "."), "www.")
	if !isHostForm(name) {
		return t.tcp(c)
	}
	if standards[name] { // without a scheme
		return true
	}
	known := scheme || sureHost(name)
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = strings.TrimSuffix(strings.TrimRight(path, "/."), ".git")
	if !wellKnown[name] {
		t.hosts(name, sureIf(known))
	}
	if path == "" {
		return known
	}
	var within []uint64
	if !wellKnown[name] {
		within = append(within, hash("h"+name))
	}
	// Import paths are also addresses of well-known hosts. A claim with one is only
	// about fetching it if it has a scheme.
	t.add("u", name+"/"+path, sureIf(known && (scheme || !wellKnown[name])), within...)
	if parts := strings.SplitN(path, "/", 3); len(parts) == 3 && wellKnown[name] {
		t.add("u", name+"/"+parts[0]+"/"+parts[1], parent)
	}
	return known
}

// tcp reads the address in bash's /dev/tcp/HOST/PORT.
func (t *tokens) tcp(c string) bool {
	rest, ok := strings.CutPrefix(c, "/dev/tcp/")
	if !ok {
		rest, ok = strings.CutPrefix(c, "/dev/udp/")
	}
	host, _, _ := strings.Cut(rest, "/")
	if ok = ok && isHostForm(host); ok && !wellKnown[host] {
		t.hosts(host, sure)
	}
	return ok
}

// hosts adds a host and its parent domains.
func (t *tokens) hosts(name string, as sort) {
	domains := []string{name}
	for rest := name; !isIPv4(name); {
		_, above, ok := strings.Cut(rest, ".")
		if !ok || !strings.Contains(above, ".") || wellKnown[above] {
			break
		}
		domains, rest = append(domains, above), above
	}
	var within []uint64
	for i := len(domains) - 1; i >= 0; i-- {
		if i > 0 {
			t.add("h", domains[i], parent, within...)
		} else {
			t.add("h", name, as, within...)
		}
		within = append(within[:len(within):len(within)], hash("h"+domains[i]))
	}
}

// maxHost is the maximum length of a host's name.
const maxHost = 253

// isHostForm reports whether s is a name of at least two labels, or an IPv4 address.
func isHostForm(s string) bool {
	if len(s) > maxHost || !strings.Contains(s, ".") {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !wordByte(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// sureHost reports whether a name is a host and no name in a program: it has a
// top-level domain of endings, and is not like System.IO.
func sureHost(name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	return isIPv4(name) || endings[name[strings.LastIndexByte(name, '.')+1:]] && (strings.Contains(rest, ".") || !ordinary()[first] && !empty[first])
}

// isIPv4 reports whether host is four numbers from 0 to 255.
func isIPv4(host string) bool {
	n := 0
	for part := range strings.SplitSeq(host, ".") {
		v := 0
		for i := range len(part) {
			if !digit(part[i]) || i > 2 {
				return false
			}
			v = v*10 + int(part[i]-'0')
		}
		if n++; part == "" || v > 255 {
			return false
		}
	}
	return n == 4
}
