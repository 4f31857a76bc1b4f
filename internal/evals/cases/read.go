package cases

import (
	"bytes"
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
func (r *reader) oneCase(path string, n ast.Node, shared *Case) (Case, error) {
	c := *shared
	c.Line = line(n)
	c.Given, c.Want.Canaries = slices.Clone(c.Given), slices.Clone(c.Want.Canaries)
	e, err := r.entries(path, n, caseKeys)
	if err != nil {
		return c, err
	}
	if e["name"] == nil {
		return c, r.wrong(n, path+".name", "missing", "Say in a few words what the case is about.")
	}
	if c.Name, err = r.text(path+".name", e["name"]); err != nil {
		return c, err
	}
	for _, read := range []func(string, map[string]ast.Node, *Case) error{r.settings, r.messages, r.expected} {
		if err := read(path, e, &c); err != nil {
			return c, err
		}
	}
	switch w := &c.Want; {
	case len(c.Messages) == 0:
		return c, r.wrong(n, path, "nothing is asked", "Give ask a question, or conversation a list of messages.")
	case w.none():
		return c, r.wrong(n, path, "nothing is expected", "Add some of "+expectations+".")
	case w.BlockEmpty != nil && *w.BlockEmpty && len(w.Inject) > 0 && len(c.Messages) == 1: // no earlier block contains it
		return c, r.wrong(e["block_empty"], path+".block_empty", "true, and must_inject wants something in the block", "Keep one of the two.")
	case w.Stranger != "" && w.Stranger == c.Owner:
		return c, r.wrong(n, path+".other_owner_sees_nothing", w.Stranger+" is the owner of the case", "Name somebody else.")
	}
	return c, nil
}

// settings decodes the keys that a case and a file have in common. Lists are appended
// to those of c.
func (r *reader) settings(path string, e map[string]ast.Node, c *Case) error {
	for _, f := range []struct {
		name string
		into *string
	}{{"owner", &c.Owner}, {"project", &c.Project}} {
		if n := e[f.name]; n != nil {
			s, err := r.text(join(path, f.name), n)
			if err != nil {
				return err
			}
			*f.into = s
		}
	}
	if n := e["scopes"]; n != nil {
		c.Scopes = []ken.Scope{} // an empty list admits only unscoped claims
		for i, v := range elements(n) {
			s, err := r.scope(at(join(path, "scopes"), i), v)
			if err != nil {
				return err
			}
			c.Scopes = append(c.Scopes, s)
		}
	}
	if n := e["now"]; n != nil {
		var err error
		if c.Now, err = r.moment(join(path, "now"), n); err != nil {
			return err
		}
	}
	if n := e["given"]; n != nil {
		c.Alone = true
		for i, v := range elements(n) {
			g, err := r.given(at(join(path, "given"), i), v)
			if err != nil {
				return err
			}
			if g.Claim.Owner == "" {
				g.Claim.Owner = c.Owner
			}
			c.Given = append(c.Given, g)
		}
	}
	if n := e["canaries"]; n != nil {
		list, err := r.texts(join(path, "canaries"), n)
		if err != nil {
			return err
		}
		c.Want.Canaries = append(c.Want.Canaries, list...)
	}
	return nil
}

func (r *reader) scope(path string, n ast.Node) (ken.Scope, error) {
	s, err := r.text(path, n)
	if err != nil {
		return ken.Scope{}, err
	}
	scope, err := ken.ParseScope(s)
	if err != nil {
		return scope, r.wrong(n, path, err.Error(), ken.Hint(err))
	}
	return scope, nil
}

func (r *reader) moment(path string, n ast.Node) (time.Time, error) {
	s, err := r.text(path, n)
	if err != nil {
		return time.Time{}, err
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, r.wrong(n, path, fmt.Sprintf("%q is not a moment", s), "Write a date such as 2031-05-01, or an RFC 3339 time.")
}

// messages decodes ask or conversation.
func (r *reader) messages(path string, e map[string]ast.Node, c *Case) error {
	ask, list := e["ask"], e["conversation"]
	switch {
	case ask != nil && list != nil:
		return r.wrong(list, path+".conversation", "given beside ask", "Keep one of the two.")
	case ask != nil:
		text, err := r.text(path+".ask", ask)
		c.Messages = []ken.Message{{Role: "user", Text: text}}
		return err
	case list == nil:
		return nil
	}
	path += ".conversation"
	users := 0
	for i, v := range elements(list) {
		m, err := r.entries(at(path, i), v, roles)
		if err != nil {
			return err
		}
		if len(m) != 1 {
			return r.wrong(v, at(path, i), "not one message", "Write one role and its text after each dash, as in - user: How are transfers retried?")
		}
		for role, n := range m {
			text, err := r.text(at(path, i)+"."+role, n)
			if err != nil {
				return err
			}
			c.Messages = append(c.Messages, ken.Message{Role: role, Text: text})
			if role == "user" {
				users++
			}
		}
	}
	if users == 0 {
		return r.wrong(list, path, "no message of the user's", "Add what the user says, as in - user: How are transfers retried?")
	}
	return nil
}

// expected decodes the expectations.
func (r *reader) expected(path string, e map[string]ast.Node, c *Case) (err error) {
	w := &c.Want
	for _, f := range []struct {
		name string
		into *[]Matcher
	}{{"must_recall", &w.Recall}, {"must_not_recall", &w.NotRecall}, {"must_inject", &w.Inject}, {"must_not_inject", &w.NotInject}} {
		if n := e[f.name]; n != nil {
			if *f.into, err = r.matchers(path+"."+f.name, n, f.into == &w.Recall); err != nil {
				return err
			}
		}
	}
	if n := e["within"]; n != nil {
		within, err := r.count(path+".within", n)
		if err != nil {
			return err
		}
		if len(w.Recall) == 0 {
			return r.wrong(n, path+".within", "there is no must_recall that it could bound", "Add must_recall, or leave within out.")
		}
		for i := range w.Recall {
			if w.Recall[i].Within == 0 {
				w.Recall[i].Within = within
			}
		}
	}
	if n := e["block_empty"]; n != nil {
		empty, err := r.boolean(path+".block_empty", n)
		if err != nil {
			return err
		}
		w.BlockEmpty = &empty
	}
	if n := e["max_chars"]; n != nil {
		if w.MaxChars, err = r.count(path+".max_chars", n); err != nil {
			return err
		}
	}
	if n := e["mode"]; n != nil {
		if w.Mode, err = r.mode(path+".mode", n); err != nil {
			return err
		}
	}
	if n := e["other_owner_sees_nothing"]; n != nil {
		w.Stranger, err = r.text(path+".other_owner_sees_nothing", n)
	}
	return err
}

func (r *reader) mode(path string, n ast.Node) (ken.Mode, error) {
	s, err := r.text(path, n)
	if err != nil {
		return "", err
	}
	modes := []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector), string(ken.ModeNone)}
	if !slices.Contains(modes, s) {
		return "", r.wrong(n, path, fmt.Sprintf("unknown mode %q", s), "Use one of "+strings.Join(modes, ", ")+".")
	}
	return ken.Mode(s), nil
}

func (r *reader) matchers(path string, n ast.Node, ranked bool) ([]Matcher, error) {
	var out []Matcher
	for i, v := range elements(n) {
		m, err := r.matcher(at(path, i), v, ranked)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, r.wrong(n, path, "an empty list", "Say what, or leave the key out.")
	}
	return out, nil
}

// matcher decodes one of id, key, source, text and regexp; a plain string is text.
func (r *reader) matcher(path string, n ast.Node, ranked bool) (m Matcher, err error) {
	if _, isMap := n.(ast.MapNode); !isMap {
		m.Text, err = r.text(path, n)
		return m, err
	}
	keys := matcherKeys
	if ranked {
		keys = append(slices.Clone(keys), "within")
	}
	e, err := r.entries(path, n, keys)
	if err != nil {
		return m, err
	}
	if v := e["within"]; v != nil {
		if m.Within, err = r.count(path+".within", v); err != nil {
			return m, err
		}
		delete(e, "within")
	}
	if len(e) != 1 {
		return m, r.wrong(n, path, fmt.Sprintf("%d ways to say what is meant", len(e)), "Give exactly one of "+strings.Join(matcherKeys, ", ")+".")
	}
	for name, v := range e {
		s, err := r.text(path+"."+name, v)
		if err != nil {
			return m, err
		}
		if err := m.set(name, s); err != nil {
			return m, r.wrong(v, path+"."+name, err.Error(), ken.Hint(err))
		}
	}
	return m, nil
}

func (m *Matcher) set(name, s string) (err error) {
	switch name {
	case "id":
		if m.ID = s; len(s) < leastID {
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
func (r *reader) given(path string, n ast.Node) (Given, error) {
	g := Given{Line: line(n)}
	fields := map[string]any{}
	if _, isMap := n.(ast.MapNode); isMap {
		e, err := r.entries(path, n, givenKeys)
		if err != nil {
			return g, err
		}
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if fields[name], err = r.value(join(path, name), e[name]); err != nil {
				return g, err
			}
		}
	} else {
		text, err := r.text(path, n)
		if err != nil {
			return g, err
		}
		fields["text"] = text
	}
	for name, full := range shortNames {
		v, ok := fields[name]
		if !ok {
			continue
		}
		if _, both := fields[full]; both {
			return g, r.wrong(n, join(path, name), "given as "+full+" as well", "Keep one of the two.")
		}
		delete(fields, name)
		fields[full] = v
	}
	if s, ok := fields["scope"].(string); ok {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return g, r.wrong(n, join(path, "scope"), err.Error(), ken.Hint(err))
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
		return g, r.wrong(n, path, err.Error(), "Write text, numbers, true, false, lists and keys with values.")
	}
	for l := range jsonl.Read(bytes.NewReader(raw), r.file) {
		if l.Err != nil {
			return g, r.refused(n, path, l.Err)
		}
		g.Claim = l.Claim
	}
	return g, nil
}

// refused converts an import's error about a claim.
func (r *reader) refused(n ast.Node, path string, err error) error {
	field, msg := path, err.Error()
	if e := (*ken.Error)(nil); errors.As(err, &e) && e.Field != "" {
		field = join(path, e.Field)
		msg = e.Msg
		if e.Err != nil {
			msg += ": " + e.Err.Error()
		}
	}
	return r.wrong(n, field, msg, ken.Hint(err))
}
