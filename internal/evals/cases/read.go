package cases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

var (
	caseKeys = []string{"name", "ask", "conversation", "owner", "project", "scopes", "now", "given", "canaries",
		"must_recall", "must_not_recall", "must_inject", "must_not_inject", "within", "block_empty", "max_chars", "mode",
		"other_owner_sees_nothing"}
	roles        = []string{"user", "assistant", "system", "developer", "tool"}
	matcherKeys  = []string{"id", "key", "source", "text", "regexp"}
	expectations = "must_recall, must_not_recall, must_inject, must_not_inject, block_empty, max_chars, mode, other_owner_sees_nothing or canaries"
)

// oneCase decodes a case, starting from what the file sets for all cases.
func (r *reader) oneCase(path string, n ast.Node, shared *Case) Case {
	c := *shared
	c.Line = line(n)
	c.Given, c.Want.Canaries = slices.Clone(c.Given), slices.Clone(c.Want.Canaries)
	e := r.entries(path, n, caseKeys)
	if e["name"] == nil {
		r.wrong(n, path+".name", "missing", "Say in a few words what the case is about.")
		return c
	}
	c.Name = r.text(path+".name", e["name"])
	r.settings(path, e, &c)
	r.messages(path, e, &c)
	r.expected(path, e, &c)
	switch w := &c.Want; {
	case len(c.Messages) == 0:
		r.wrong(n, path, "nothing is asked", "Give ask a question, or conversation a list of messages.")
	case w.none():
		r.wrong(n, path, "nothing is expected", "Add some of "+expectations+".")
	case w.BlockEmpty != nil && *w.BlockEmpty && len(w.Inject) > 0 && len(c.Messages) == 1: // no earlier block contains it
		r.wrong(e["block_empty"], path+".block_empty", "true, and must_inject wants something in the block", "Keep one of the two.")
	case w.Stranger != "" && w.Stranger == c.Owner:
		r.wrong(n, path+".other_owner_sees_nothing", w.Stranger+" is the owner of the case", "Name another owner.")
	}
	return c
}

// settings decodes the keys that a case and a file have in common. Lists are appended
// to those of c.
func (r *reader) settings(path string, e map[string]ast.Node, c *Case) {
	if n := e["owner"]; n != nil {
		c.Owner = r.text(join(path, "owner"), n)
	}
	if n := e["project"]; n != nil {
		c.Project = r.text(join(path, "project"), n)
	}
	if n := e["scopes"]; n != nil {
		c.Scopes = []ken.Scope{} // an empty list admits only unscoped claims
		for i, v := range elements(n) {
			c.Scopes = append(c.Scopes, r.scope(at(join(path, "scopes"), i), v))
		}
	}
	if n := e["now"]; n != nil {
		c.Now = r.moment(join(path, "now"), n)
	}
	if n := e["given"]; n != nil {
		c.Alone = true
		for i, v := range elements(n) {
			g := r.given(at(join(path, "given"), i), v)
			g.Claim.Owner = cmp.Or(g.Claim.Owner, c.Owner)
			c.Given = append(c.Given, g)
		}
	}
	if n := e["canaries"]; n != nil {
		c.Want.Canaries = append(c.Want.Canaries, r.texts(join(path, "canaries"), n)...)
	}
}

func (r *reader) scope(path string, n ast.Node) ken.Scope {
	scope, err := ken.ParseScope(r.text(path, n))
	if err != nil {
		r.wrong(n, path, err.Error(), ken.Hint(err))
	}
	return scope
}

func (r *reader) moment(path string, n ast.Node) time.Time {
	s := r.text(path, n)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	r.wrong(n, path, fmt.Sprintf("%q is not a moment", s), "Write a date such as 2031-05-01, or an RFC 3339 time.")
	return time.Time{}
}

// messages decodes ask or conversation.
func (r *reader) messages(path string, e map[string]ast.Node, c *Case) {
	ask, list := e["ask"], e["conversation"]
	switch {
	case ask != nil && list != nil:
		r.wrong(list, path+".conversation", "given beside ask", "Keep one of the two.")
		return
	case ask != nil:
		c.Messages = []ken.Message{{Role: "user", Text: r.text(path+".ask", ask)}}
		return
	case list == nil:
		return
	}
	path += ".conversation"
	for i, v := range elements(list) {
		m := r.entries(at(path, i), v, roles)
		if len(m) != 1 {
			r.wrong(v, at(path, i), "not one message", "Write one role and its text after each dash, as in - user: How are transfers retried?")
			return
		}
		for role, n := range m {
			c.Messages = append(c.Messages, ken.Message{Role: role, Text: r.text(at(path, i)+"."+role, n)})
		}
	}
	if !slices.ContainsFunc(c.Messages, func(m ken.Message) bool { return m.Role == "user" }) {
		r.wrong(list, path, "no message of the user's", "Add what the user says, as in - user: How are transfers retried?")
	}
}

// expected decodes the expectations.
func (r *reader) expected(path string, e map[string]ast.Node, c *Case) {
	w := &c.Want
	for _, f := range []struct {
		name string
		into *[]Matcher
	}{{"must_recall", &w.Recall}, {"must_not_recall", &w.NotRecall}, {"must_inject", &w.Inject}, {"must_not_inject", &w.NotInject}} {
		if n := e[f.name]; n != nil {
			*f.into = r.matchers(path+"."+f.name, n, f.into == &w.Recall)
		}
	}
	if n := e["within"]; n != nil {
		within := r.count(path+".within", n)
		if len(w.Recall) == 0 {
			r.wrong(n, path+".within", "there is no must_recall that it could bound", "Add must_recall, or leave within out.")
		}
		for i := range w.Recall {
			w.Recall[i].Within = cmp.Or(w.Recall[i].Within, within)
		}
	}
	if n := e["block_empty"]; n != nil {
		empty := r.boolean(path+".block_empty", n)
		w.BlockEmpty = &empty
	}
	if n := e["max_chars"]; n != nil {
		w.MaxChars = r.count(path+".max_chars", n)
	}
	if n := e["mode"]; n != nil {
		w.Mode = r.mode(path+".mode", n)
	}
	if n := e["other_owner_sees_nothing"]; n != nil {
		w.Stranger = r.text(path+".other_owner_sees_nothing", n)
	}
}

func (r *reader) mode(path string, n ast.Node) ken.Mode {
	s := r.text(path, n)
	modes := []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector), string(ken.ModeNone)}
	if !slices.Contains(modes, s) {
		r.wrong(n, path, fmt.Sprintf("unknown mode %q", s), "Use one of "+strings.Join(modes, ", ")+".")
	}
	return ken.Mode(s)
}

func (r *reader) matchers(path string, n ast.Node, ranked bool) (out []Matcher) {
	for i, v := range elements(n) {
		out = append(out, r.matcher(at(path, i), v, ranked))
	}
	if len(out) == 0 {
		r.wrong(n, path, "an empty list", "Say what, or leave the key out.")
	}
	return out
}

// matcher decodes one of id, key, source, text and regexp; a plain string is text.
func (r *reader) matcher(path string, n ast.Node, ranked bool) (m Matcher) {
	if _, isMap := n.(ast.MapNode); !isMap {
		return Matcher{Text: r.text(path, n)}
	}
	keys := matcherKeys
	if ranked {
		keys = append(slices.Clone(keys), "within")
	}
	e := r.entries(path, n, keys)
	if v := e["within"]; v != nil {
		m.Within = r.count(path+".within", v)
		delete(e, "within")
	}
	if len(e) != 1 {
		r.wrong(n, path, fmt.Sprintf("%d ways to say what is meant", len(e)), "Give exactly one of "+strings.Join(matcherKeys, ", ")+".")
		return m
	}
	for name, v := range e {
		if err := m.set(name, r.text(path+"."+name, v)); err != nil {
			r.wrong(v, path+"."+name, err.Error(), ken.Hint(err))
		}
	}
	return m
}

func (m *Matcher) set(name, s string) (err error) {
	switch name {
	case "id":
		if m.ID = itemid.Bare(s); len(m.ID) < leastID {
			err = &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%q is too short for an id", s), Try: fmt.Sprintf("Give the id, or at least its last %d characters.", leastID)}
		}
	case "key":
		m.Key = s
	case "source":
		m.Source = s
	case "text":
		m.Text = s
	case "regexp":
		if m.Regexp, err = regexp.Compile(s); err != nil {
			err = &ken.Error{Code: ken.CodeInvalid, Msg: err.Error(), Try: "Write it in the syntax of Go's package regexp, in single quotes."}
		}
	}
	return err
}

// Keys of a claim under given: the fields of an export, without history and counters,
// and short names for two of them.
var givenKeys = []string{"text", "key", "kind", "heading", "tags", "evidence", "status", "scope", "owner", "session", "branch", "project",
	"id", "body", "confidence", "importance", "actor", "domain", "entities", "aspect", "constraint", "source", "source_type",
	"created_at", "updated_at", "expires_at", "archived_at", "supersedes", "superseded_by", "session_id", "branch_id"}

var shortNames = map[string]string{"session": "session_id", "branch": "branch_id"}

// given decodes a claim: a mapping with the fields of an export, or only its text.
// Meaning, defaults and checks of the fields are those of an import.
func (r *reader) given(path string, n ast.Node) Given {
	g := Given{Line: line(n)}
	fields := map[string]any{}
	if _, isMap := n.(ast.MapNode); isMap {
		e := r.entries(path, n, givenKeys)
		for _, name := range slices.Sorted(maps.Keys(e)) {
			fields[name] = r.value(join(path, name), e[name])
		}
	} else {
		fields["text"] = r.text(path, n)
	}
	for name, full := range shortNames {
		v, ok := fields[name]
		if !ok {
			continue
		}
		if _, both := fields[full]; both {
			r.wrong(n, join(path, name), "given as "+full+" as well", "Keep one of the two.")
		}
		delete(fields, name)
		fields[full] = v
	}
	if s, ok := fields["scope"].(string); ok {
		scope, err := ken.ParseScope(s)
		if err != nil {
			r.wrong(n, join(path, "scope"), err.Error(), ken.Hint(err))
		}
		fields["scope"] = scope
	}
	if fields["evidence"] == nil {
		e := ken.FromArtifact(fmt.Sprintf("given:%s:%d", r.file, g.Line), r.file)
		e.Line = g.Line
		fields["evidence"] = []ken.Evidence{e}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		r.wrong(n, path, err.Error(), "Write text, numbers, true, false, lists and keys with values.")
	}
	if r.err != nil {
		return g
	}
	for l := range jsonl.Read(bytes.NewReader(raw), r.file) {
		if l.Err != nil {
			r.refused(n, path, l.Err)
		}
		g.Claim = l.Claim
	}
	return g
}

// refused records an import's error about a claim.
func (r *reader) refused(n ast.Node, path string, err error) {
	field, msg := path, err.Error()
	if e, ok := errors.AsType[*ken.Error](err); ok && e.Field != "" {
		field = join(path, e.Field)
		msg = e.Msg
		if e.Err != nil {
			msg += ": " + e.Err.Error()
		}
	}
	r.wrong(n, field, msg, ken.Hint(err))
}
