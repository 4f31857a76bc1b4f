package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// key is one setting: its declaration, bound to the field that it fills. Values are
// passed as words: one for a plain setting, any number for a list, spelled as in the
// file without quotes.
type key struct {
	path string // dotted, such as retrieval.legs.keyword
	doc  string
	rule
	list bool
	def  []string

	consent *consentRule // nil: the rule of its kind; see key.consentRule

	example string // lines of YAML shown below the key, for a list with complex elements; may be empty

	// element decodes an element of a list that is not a scalar; nil for scalars.
	element func(ast.Node) (string, error)

	get func() []string
	set func(words []string) error // on error, it changes nothing
}

// rule describes the allowed values.
type rule struct {
	want   string         // in words: "a whole number from 1 to 1000"
	brief  string         // short form, such as 1..1000; may be empty
	try    string         // a sentence that says how to write it; may be empty
	secret bool           // a wrong value may be a secret, so messages don't repeat it
	types  []ast.NodeType // of the YAML value, or of each element of a list
	reach  string         // what the value affects outside of the project, such as where text is sent; empty for most
}

// kind is a rule with conversions in both directions. parse also checks the range, and
// must accept everything that format returns for an allowed value.
type kind[T any] struct {
	rule
	parse  func(string) (T, bool)
	format func(T) string
}

// bind declares a plain setting. The path is relative to its section.
func bind[T any](path string, field *T, def T, k kind[T], doc string) key {
	return key{path: path, doc: doc, rule: k.rule, def: []string{k.format(def)},
		get: func() []string { return []string{k.format(*field)} },
		set: func(words []string) error {
			if len(words) != 1 {
				return k.refuse("a list")
			}
			v, ok := k.parse(words[0])
			if !ok {
				return k.refuse(quote(words[0]))
			}
			*field = v
			return nil
		},
	}
}

// bindList declares a setting that is a list, empty by default.
func bindList[T any](path string, field *[]T, k kind[T], doc string) key {
	return key{path: path, doc: doc, rule: k.rule, list: true,
		get: func() []string {
			var words []string
			for _, v := range *field {
				words = append(words, k.format(v))
			}
			return words
		},
		set: func(words []string) error {
			var vs []T
			for i, w := range words {
				v, ok := k.parse(w)
				if !ok {
					return numbered(i, k.refuse(quote(w)))
				}
				vs = append(vs, v)
			}
			*field = vs
			return nil
		},
	}
}

// reset sets the default, which is always allowed.
func (k *key) reset() {
	if err := k.set(k.def); err != nil {
		panic("config: the default of " + k.path + " is not allowed: " + err.Error())
	}
}

// check returns an error if the current value is not allowed.
func (k *key) check() error { return k.at(k.set(k.get())) }

// at adds the key to the Field of an error, before the part of the value that the error
// names.
func (k *key) at(err error) error {
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		e.Field = k.path + e.Field
	}
	return err
}

// text reports whether values are strings in YAML, which may need quotes.
func (r *rule) text() bool { return slices.Contains(r.types, ast.StringType) }

// refuse returns the error for a value got that the rule doesn't allow.
func (r *rule) refuse(got string) error {
	if r.secret {
		got = "the value"
	}
	try := r.try
	try = cmp.Or(try, "Give "+r.want+", or leave the key out for its default.")
	return &ken.Error{Code: ken.CodeInvalid, Msg: got + " is not " + r.want, Try: try}
}

// quote quotes a value for a message, shortened.
func quote(s string) string {
	return strconv.Quote(analysis.Clip(s, 60))
}

var (
	textual = []ast.NodeType{ast.StringType, ast.LiteralType}
	integer = []ast.NodeType{ast.IntegerType}
	numeric = []ast.NodeType{ast.IntegerType, ast.FloatType}
	boolean = []ast.NodeType{ast.BoolType}
)

// same returns its argument: it is the format function of string kinds.
func same(s string) string { return s }

// words is a kind of string that is allowed if ok returns true.
func words(want, try string, ok func(string) bool) kind[string] {
	return kind[string]{rule{want: want, try: try, types: textual},
		func(s string) (string, bool) { return s, ok(s) }, same}
}

// oneLine reports whether a text has no line breaks and other control characters.
func oneLine(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

// optional is one line of text, possibly empty.
func optional() kind[string] {
	return words("one line of text", "Put the text in quotes, on one line.", oneLine)
}

// name is one line of text.
func name() kind[string] {
	return words("one line of text that is not empty", "Put the text in quotes, on one line.",
		func(s string) bool { return strings.TrimSpace(s) != "" && oneLine(s) })
}

// path is the path of a file or folder.
func path() kind[string] {
	k := folder()
	k.want, k.try = "a path", ""
	return k
}

// reaching sets what the value affects outside of the project.
func (k kind[T]) reaching(what string) kind[T] {
	k.reach = what
	return k
}

// folder is the name of a folder in the project.
func folder() kind[string] { return name().reaching(reachPath) }

func optionalPath() kind[string] { return optional().reaching(reachPath) }

// What values of some kinds affect outside of the project.
const (
	reachPath    = "which files are read or written"
	reachKey     = "which variable of your environment is sent as a key"
	reachAddress = "where texts and keys are sent"
	reachListen  = "who can reach ken serve"
	reachModel   = "which model reads texts, and what it costs"
	reachCommand = "which commands are run"
)

// owner is the name of an owner.
func owner() kind[string] {
	return words(access.OwnerForm, "", access.ValidOwner)
}

var variableName = lazyregexp.New(`^[A-Z_][A-Z0-9_]*$`)

// variable is the name of an environment variable that holds a secret. Lower-case
// letters are refused, because secrets tend to contain them and names of variables
// don't.
func variable() kind[string] {
	k := words("the name of an environment variable in capitals",
		"Put the secret into an environment variable, and give the variable's name, such as OPENAI_API_KEY.",
		func(s string) bool { return s == "" || variableName.MatchString(s) })
	k.secret, k.reach = true, reachKey
	return k
}

// address is the base URL of an API, or empty. It can't contain a password.
func address() kind[string] {
	k := words("an http or https URL without a user name, query or fragment",
		"Give the address alone, such as http://localhost:11434/v1; keys belong into an environment variable.",
		func(s string) bool {
			if s == "" {
				return true
			}
			u, err := url.Parse(s)
			return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
				u.User == nil && u.RawQuery == "" && u.Fragment == ""
		})
	k.secret, k.reach = true, reachAddress
	return k
}

// flag is true or false.
func flag() kind[bool] {
	return kind[bool]{rule{want: "true or false", types: boolean},
		func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" }, strconv.FormatBool}
}

func whole(low, high int) kind[int] {
	return kind[int]{rule{want: fmt.Sprintf("a whole number from %d to %d", low, high), brief: fmt.Sprintf("%d..%d", low, high), types: integer},
		func(s string) (int, bool) {
			n, err := strconv.Atoi(s)
			return n, err == nil && low <= n && n <= high
		}, strconv.Itoa}
}

// fraction is a number with decimals, from 0.
func fraction(high float64) kind[float64] {
	return kind[float64]{rule{want: fmt.Sprintf("a number from 0 to %g", high), brief: fmt.Sprintf("0..%g", high), types: numeric},
		func(s string) (float64, bool) {
			f, err := strconv.ParseFloat(s, 64)
			return f, err == nil && 0 <= f && f <= high
		},
		func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }}
}

func span(low, high time.Duration) kind[time.Duration] {
	return kind[time.Duration]{
		rule{want: "a length of time from " + period(low) + " to " + period(high),
			brief: period(low) + ".." + period(high), try: "Write a number and its unit (ms, s, m or h) without a space, such as 150ms or 24h.", types: textual},
		func(s string) (time.Duration, bool) {
			d, err := time.ParseDuration(s)
			return d, err == nil && low <= d && d <= high
		}, period}
}

// period formats a duration without zero units: 2m instead of 2m0s.
func period(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// choice is one of several words.
func choice[T comparable](options ...T) kind[T] {
	var spelled []string
	for _, o := range options {
		spelled = append(spelled, fmt.Sprint(o))
	}
	last := len(spelled) - 1
	return kind[T]{rule{want: strings.Join(spelled[:last], ", ") + " or " + spelled[last],
		brief: strings.Join(spelled, " | "), types: textual},
		func(s string) (T, bool) {
			for i, w := range spelled {
				if w == s {
					return options[i], true
				}
			}
			var none T
			return none, false
		},
		func(v T) string { return fmt.Sprint(v) }}
}

// scope is type:id.
func scope() kind[ken.Scope] {
	return kind[ken.Scope]{
		rule{want: "a scope, which is project, repo, agent or run with an id after a colon",
			try: "Write it as in repo:github.com/acme/payments.", types: textual},
		func(s string) (ken.Scope, bool) {
			sc, err := ken.ParseScope(s)
			return sc, err == nil && !sc.IsZero() && oneLine(s)
		}, ken.Scope.String}
}

// listenAddress is host:port, or unix: and a path.
func listenAddress() kind[string] {
	return words("an address and port, or unix: and a path", "Write it as in 127.0.0.1:8484, [::1]:8484 or unix:/run/user/1000/ken.sock.", canListen).
		reaching(reachListen)
}

// optionalListenAddress is a listenAddress, or empty.
func optionalListenAddress() kind[string] {
	return words("an address and port, unix: and a path, or empty", "Write it as in 127.0.0.1:6060, or leave it empty.",
		func(s string) bool { return s == "" || canListen(s) }).reaching(reachListen)
}

func canListen(s string) bool {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		return strings.TrimSpace(path) != "" && oneLine(path)
	}
	_, port, err := net.SplitHostPort(s)
	n, numErr := strconv.ParseUint(port, 10, 16)
	return err == nil && numErr == nil && n <= 65535 && oneLine(s)
}

var hostForm = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// hostName is a name or address without a port.
func hostName() kind[string] {
	return words("a host name without a port", "Write it as in ken.internal.", hostForm.MatchString).reaching(reachListen)
}
