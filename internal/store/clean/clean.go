// Package clean removes from a text what must not enter a log: secrets, control
// characters, and a model's reasoning.
package clean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// Text cleans a text before it is logged.
func Text(s string) string {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	return s
}

// PersonText is Text for a person's text, which may mention reasoning tags.
func PersonText(s string) string {
	s, _ = guardrail.Redact(guardrail.StripPastedReasoning(guardrail.Sanitize(s)))
	return s
}

// maxID limits an id, in bytes. Escaping may triple its length, and a shelf's key has at
// most 1,024 bytes.
const maxID = 256

// CheckID returns an error for an id that can't be part of a shelf's key. An id comes from
// outside and is stored unchanged, so it must need no cleaning. field is what it names.
func CheckID(field, id string) error {
	fault := ""
	switch {
	case strings.TrimSpace(id) == "":
		fault = "empty"
	case len(id) > maxID:
		fault = fmt.Sprintf("%d bytes; at most %d", len(id), maxID)
	case Text(id) != id || strings.ContainsAny(id, "\n\t"):
		fault = "it holds control characters, markup of a model or a credential"
	default:
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: fault, Try: "Name the " + field + " by an opaque id, such as a UUID."}
}

// SaidByPerson reports whether a piece of evidence is a person's statement.
func SaidByPerson(e ken.Evidence) bool {
	return e.Kind == ken.EvidenceUserStatement || e.Kind == ken.EvidenceHumanAssertion
}

// All returns the texts cleaned by Text; nil for nil.
func All(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = Text(s)
	}
	return out
}

// Body cleans the names and strings of a JSON value. A name may mark its value as a
// secret, such as {"password": …}. A value that needs no cleaning is returned unchanged.
func Body(body json.RawMessage) (json.RawMessage, error) {
	if len(body) == 0 || Text(string(body)) == string(body) && !bytes.ContainsRune(body, '\\') {
		return body, nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "body", Msg: "not valid JSON", Err: err, Try: "Give a JSON value."}
	}
	before, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(value(v))
	if err != nil {
		return nil, err
	}
	out, _ := guardrail.Redact(string(after)) // names and values that are strings of one object
	switch {
	case out == string(before):
		return body, nil
	case !json.Valid([]byte(out)):
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "body", Msg: "a secret in it can't be taken out", Try: "Leave out what is secret."}
	}
	return json.RawMessage(out), nil
}

func value(v any) any {
	switch v := v.(type) {
	case string:
		return Text(v)
	case []any:
		for i := range v {
			v[i] = value(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, in := range v {
			clean[Text(k)] = value(in)
		}
		return clean
	}
	return v
}

// Evidence returns the evidence with clean details and command lines, without secrets in
// its references, such as a token in a URL, and with no time in the future.
func Evidence(in []ken.Evidence, now time.Time) []ken.Evidence {
	if in == nil {
		return nil
	}
	out := make([]ken.Evidence, 0, len(in))
	for _, e := range in {
		clean := Text
		if SaidByPerson(e) {
			clean = PersonText
		}
		e.Detail = clean(e.Detail)
		for _, s := range []*string{&e.ID, &e.ArtifactID, &e.Path, &e.Repo, &e.URL} {
			*s, _ = guardrail.Redact(*s)
		}
		e.FetchedAt = NotAhead(e.FetchedAt, now)
		if e.Kind == ken.EvidenceExitCode {
			e.ID = Text(e.ID) // a command line
		}
		out = append(out, e)
	}
	return out
}

// ahead is the accepted difference between clocks.
const ahead = 5 * time.Minute

// NotAhead returns t, or now if t is more than ahead in the future. A time in the future,
// from a wrong clock or a wrong source, would make a claim the newest, and keep it from
// aging until then.
func NotAhead(t, now time.Time) time.Time {
	if t.After(now.Add(ahead)) {
		return now.UTC()
	}
	return t
}
