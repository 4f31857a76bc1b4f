package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

// form is what a parameter's value has to look like.
type form uint8

const (
	formText form = iota
	formNumber
	formFlag
	formScope
	formKind
)

// maxValue bounds a parameter's value in bytes.
const maxValue = 8 << 10

// param is a parameter of a query. It is compared by its address.
type param struct {
	name    string
	about   string
	form    form
	many    bool     // may be given several times
	must    bool     // and is not empty
	enum    []string // the values that there are; nil for any
	low     int      // of a number
	high    int
	def     string
	example string
}

// values are what a query gives for each parameter, checked.
type values map[string][]string

// parseQuery reads a query for a route with these parameters. Errors are problems
// that name the parameter.
func parseQuery(raw string, params []*param) (values, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query", "the query can't be read", "Escape what is not a letter, a digit or one of -._~ as %XX.")
	}
	out := values{}
	for name, list := range given {
		i := slices.IndexFunc(params, func(p *param) bool { return p.name == name })
		if i < 0 {
			return nil, unknownParam(name, params)
		}
		p := params[i]
		if len(list) > 1 && !p.many {
			return nil, invalid(name, "given more than once", "Give it once.")
		}
		for _, v := range list {
			if err := p.check(v); err != nil {
				return nil, err
			}
		}
		out[name] = list
	}
	for _, p := range params {
		if p.must && len(out[p.name]) == 0 {
			return nil, invalid(p.name, "missing", "Add "+p.name+" to the query.")
		}
	}
	return out, nil
}

// check reports a value that the parameter can't have.
func (p *param) check(v string) error {
	switch {
	case len(v) > maxValue:
		return invalid(p.name, fmt.Sprintf("%d bytes; at most %d", len(v), maxValue), "Shorten it.")
	case !utf8.ValidString(v):
		return invalid(p.name, "not valid UTF-8", "Convert it to UTF-8 first.")
	case p.must && strings.TrimSpace(v) == "":
		return invalid(p.name, "empty", "Give a value.")
	case p.enum != nil && !slices.Contains(p.enum, v):
		return invalid(p.name, "unknown value "+strconv.Quote(printable(v, 60)), "Use one of "+strings.Join(p.enum, ", ")+".")
	}
	switch p.form {
	case formNumber:
		n, err := strconv.Atoi(v)
		if err != nil || n < p.low || n > p.high || v != strconv.Itoa(n) {
			return invalid(p.name, "not a number from "+strconv.Itoa(p.low)+" to "+strconv.Itoa(p.high),
				"Give a whole number in that range.")
		}
	case formFlag:
		if _, err := strconv.ParseBool(v); err != nil {
			return invalid(p.name, "neither true nor false", "Give true or false.")
		}
	case formScope:
		if _, err := ken.ParseScope(v); err != nil {
			return err
		}
	case formKind:
		probe := ken.Claim{Kind: ken.Kind(v), Text: "x", Evidence: []ken.Evidence{ken.FromDecision("x")}, Status: ken.StatusObserved}
		if err := probe.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// unknownParam names the parameter that was probably meant.
func unknownParam(name string, params []*param) error {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	try := "Leave it out; there are no parameters here."
	if near := nearest(name, names); near != "" {
		try = "Did you mean " + near + "?"
	} else if len(names) > 0 {
		slices.Sort(names)
		try = "Use some of " + strings.Join(names, ", ") + "."
	}
	return invalid(printable(name, 60), "unknown parameter", try)
}

// nearest is the name that is few slips away from what was given, of several the one
// that begins like it; "" for none.
func nearest(given string, names []string) (best string) {
	if len(given) > 64 {
		return ""
	}
	least, alike := max(1, len(given)/3)+1, 0
	for _, n := range slices.Sorted(slices.Values(names)) {
		d, begins := spelling.Distance(given, n), 0
		for begins < min(len(given), len(n)) && given[begins] == n[begins] {
			begins++
		}
		if d < least || d == least && best != "" && begins > alike {
			best, least, alike = n, d, begins
		}
	}
	return best
}

// printable is a text that was sent, fit to be shown in an answer: cut, and without
// anything that a terminal obeys.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// invalid is an error of the request's.
func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}
