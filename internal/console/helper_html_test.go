package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// page is an answer as a browser reads it.
type page struct {
	testing.TB
	what     string // was asked for
	status   int
	header   http.Header
	location string // where a redirect leads
	body     string
	root     *html.Node
}

func read(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) *page {
	t.Helper()
	p := &page{TB: t, what: r.Method + " " + r.URL.RequestURI(), status: w.Code, header: w.Header(), location: w.Header().Get("Location"), body: w.Body.String()}
	root, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		t.Fatalf("%s: %v", p.what, err)
	}
	p.root = root
	return p
}

// all returns the elements that a selector of CSS finds, in their order. It knows a, #id,
// .class, [name], [name="value"], [name^="value"], all of these together, and descent.
func (p *page) all(selector string) (out []*html.Node) {
	p.Helper()
	found := []*html.Node{p.root}
	for part := range strings.FieldsSeq(selector) {
		var next []*html.Node
		seen := map[*html.Node]bool{}
		for _, from := range found {
			for n := range from.Descendants() {
				if !seen[n] && n.Type == html.ElementNode && p.matches(n, part) {
					seen[n] = true
					next = append(next, n)
				}
			}
		}
		found = next
	}
	return found
}

func (p *page) has(selector string) bool { p.Helper(); return len(p.all(selector)) > 0 }

// one returns the only element that a selector finds.
func (p *page) one(selector string) *html.Node {
	p.Helper()
	found := p.all(selector)
	if len(found) != 1 {
		p.Fatalf("%s has %d of %s, want 1; it says: %s", p.what, len(found), selector, p.text())
	}
	return found[0]
}

// matches reports whether an element is what one part of a selector asks for.
func (p *page) matches(n *html.Node, part string) bool {
	p.Helper()
	for rest := part; rest != ""; {
		end := strings.IndexAny(rest[1:], "#.[") + 1
		if rest[0] == '[' {
			end = strings.IndexByte(rest, ']') + 1
		}
		if end <= 0 {
			end = len(rest)
		}
		piece := rest[:end]
		rest = rest[end:]
		switch piece[0] {
		case '#':
			if attr(n, "id") != piece[1:] {
				return false
			}
		case '.':
			if !slices.Contains(strings.Fields(attr(n, "class")), piece[1:]) {
				return false
			}
		case '[':
			name, value, valued := strings.Cut(strings.Trim(piece, "[]"), "=")
			value = strings.Trim(value, `"`)
			begins := strings.HasSuffix(name, "^")
			name = strings.TrimSuffix(name, "^")
			has := attr(n, name)
			if !hasAttr(n, name) || valued && has != value && (!begins || !strings.HasPrefix(has, value)) {
				return false
			}
		default:
			if n.Data != piece {
				return false
			}
		}
	}
	return true
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// text is what a reader sees of an element, with single spaces.
func text(n *html.Node) string {
	var b strings.Builder
	addText(&b, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

// addText adds what a reader sees of a node. Only inline elements leave no gap.
func addText(b *strings.Builder, n *html.Node) {
	switch n.Type {
	case html.TextNode:
		b.WriteString(n.Data)
	case html.ElementNode:
		switch n.Data {
		case "script", "style":
			return
		case "a", "abbr", "b", "bdi", "code", "del", "ins", "kbd", "span", "time":
		default:
			b.WriteByte(' ')
			defer b.WriteByte(' ')
		}
	}
	for c := range n.ChildNodes() {
		addText(b, c)
	}
}

// text is what a reader sees of the page's own content, without the frame.
func (p *page) text() string {
	p.Helper()
	for n := range p.root.Descendants() {
		if n.Data == "main" && n.Type == html.ElementNode {
			return text(n)
		}
	}
	return text(p.root)
}

// texts are those of all elements that a selector finds.
func (p *page) texts(selector string) (out []string) {
	p.Helper()
	for _, n := range p.all(selector) {
		out = append(out, text(n))
	}
	return out
}

// says fails unless the page's content has each of the texts.
func (p *page) says(want ...string) {
	p.Helper()
	have := p.text()
	for _, w := range want {
		if !strings.Contains(have, w) {
			p.Errorf("%s does not say %q; it says: %s", p.what, w, have)
		}
	}
}

// hides fails if the response contains one of the texts.
func (p *page) hides(not ...string) {
	p.Helper()
	for _, w := range not {
		if i := strings.Index(p.body, w); i >= 0 {
			p.Errorf("%s has %q: …%s…", p.what, w, p.body[max(i-80, 0):min(i+80, len(p.body))])
		}
	}
}

// links reports whether there is a link to a path.
func (p *page) links(path string) bool {
	p.Helper()
	for _, a := range p.all("a") {
		if attr(a, "href") == path {
			return true
		}
	}
	return false
}

// fieldsOf returns the fields of a form with their present values.
func fieldsOf(form *html.Node) url.Values {
	out := url.Values{}
	for n := range form.Descendants() {
		name := attr(n, "name")
		if n.Type != html.ElementNode || name == "" || hasAttr(n, "disabled") {
			continue
		}
		switch n.Data {
		case "input":
			if kind := attr(n, "type"); (kind == "checkbox" || kind == "radio") && !hasAttr(n, "checked") {
				continue
			}
			out.Add(name, attr(n, "value"))
		case "textarea":
			var b strings.Builder
			for d := range n.Descendants() {
				b.WriteString(d.Data)
			}
			out.Add(name, b.String())
		case "select":
			var value string
			first := true
			for o := range n.Descendants() {
				if o.Data == "option" && (first || hasAttr(o, "selected")) {
					first = false
					if value = text(o); hasAttr(o, "value") {
						value = attr(o, "value")
					}
				}
			}
			out.Add(name, value)
		}
	}
	return out
}

// check tests the properties of every page: the headers, one heading of the first level,
// headings in order, unique ids, a label on every field, a name on every table and a token in every form. No
// script, resource or link may be foreign.
func (p *page) check() {
	p.Helper()
	if p.header.Get("Content-Security-Policy") == "" || p.header.Get("X-Content-Type-Options") != "nosniff" {
		p.Errorf("%s: headers %v", p.what, p.header)
	}
	if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") || p.location != "" {
		return
	}
	if n := len(p.all("h1")); n != 1 {
		p.Errorf("%s has %d headings of the first level", p.what, n)
	}
	ids, level := map[string]bool{}, 0
	labels := map[string]bool{}
	for _, n := range p.all("label") {
		labels[attr(n, "for")] = true
	}
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				p.Errorf("%s has the id %q twice", p.what, id)
			}
			ids[id] = true
		}
		if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
			at, _ := strconv.Atoi(n.Data[1:])
			if at > level+1 {
				p.Errorf("%s goes from heading %d to %d at %q", p.what, level, at, text(n))
			}
			level = at
		}
		p.checkElement(n, labels)
	}
}

func (p *page) checkElement(n *html.Node, labels map[string]bool) {
	p.Helper()
	for _, a := range n.Attr {
		if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
			p.Errorf("%s has <%s %s=%q>", p.what, n.Data, a.Key, a.Val)
		}
		if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !leadsWell(n, a.Val) {
			p.Errorf("%s has <%s %s=%q>", p.what, n.Data, a.Key, a.Val)
		}
	}
	switch n.Data {
	case "script", "img", "link":
		if src := attr(n, "src") + attr(n, "href"); !strings.HasPrefix(src, "/console/assets/") && !(attr(n, "rel") == "expect" && p.has(src)) {
			p.Errorf("%s has a <%s> of %q", p.what, n.Data, src)
		}
	case "iframe", "object", "embed", "base", "style":
		p.Errorf("%s has a <%s>", p.what, n.Data)
	case "form":
		if attr(n, "method") == "post" && attr(n, "action") != "/console/theme" && attr(n, "action") != "/console/login" && fieldsOf(n).Get("token") == "" {
			if attr(n, "action") != "/console/logout" {
				p.Errorf("%s: the form for %s has no token", p.what, attr(n, "action"))
			}
		}
	case "table":
		if attr(n, "aria-label") == "" && !slices.ContainsFunc(slices.Collect(n.ChildNodes()), func(c *html.Node) bool { return c.Data == "caption" }) {
			p.Errorf("%s: the table %q has no name", p.what, text(n))
		}
	case "input", "select", "textarea":
		kind := attr(n, "type")
		inside := n.Parent != nil && n.Parent.Data == "label"
		if kind != "hidden" && kind != "submit" && !inside && attr(n, "aria-label") == "" && attr(n, "aria-labelledby") == "" && !labels[attr(n, "id")] {
			p.Errorf("%s: the field %q has no label", p.what, attr(n, "name"))
		}
	}
}

// leadsWell reports an address of the console itself, or of the web from a link that says
// so.
func leadsWell(n *html.Node, to string) bool {
	if strings.HasPrefix(to, "/console/") || strings.HasPrefix(to, "#") {
		return true
	}
	return n.Data == "a" && strings.Contains(attr(n, "rel"), "external") && (strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://"))
}
