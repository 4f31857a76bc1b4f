package session

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/store"
)

// cleanArguments cleans the arguments of a tool call. JSON stays JSON: every
// string in it is cleaned by itself, as it reads once unescaped, and then the
// whole, since a secret may be known by the name before it. What needs no cleaning
// stays as the model wrote it. Text that is not JSON is cleaned as text.
func cleanArguments(raw string) string {
	v, ok := decode(raw)
	if !ok {
		return strings.TrimSpace(store.Clean(raw))
	}
	out := raw
	if unclean(raw) {
		eachString(&v, store.Clean)
		out = encode(v)
	}
	out, _ = guardrail.Redact(out)
	return strings.TrimSpace(out)
}

// unclean reports whether anything in a JSON value must go. It looks at what is
// written, since of a field that is there twice, a decoded value has one.
func unclean(raw string) bool {
	if guardrail.Sanitize(raw) != raw {
		return true
	}
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	for {
		switch tok, err := dec.Token(); tok := tok.(type) {
		case string:
			if store.Clean(tok) != tok {
				return true
			}
		case nil:
			if err != nil {
				return err != io.EOF
			}
		}
	}
}

// cutArguments bounds cleaned arguments. JSON stays JSON: its longest strings lose
// their middles first.
func cutArguments(args string, limit int) string {
	if len(args) <= limit {
		return args
	}
	v, ok := decode(args)
	for most := limit / 2; ok && most >= 64; most /= 2 {
		eachString(&v, func(s string) string { s, _ = cut(s, most); return s })
		if out, _ := guardrail.Redact(encode(v)); len(out) <= limit {
			return out
		}
	}
	args, _ = cut(args, limit)
	return args
}

// canonical is the same for arguments that differ in spelling alone: clients write
// them anew when they send them back.
func canonical(args string) string {
	if v, ok := decode(args); ok {
		return encode(v)
	}
	return args
}

// decode reads one JSON value.
func decode(s string) (v any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // never: it was decoded, and strings stay strings
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// eachString replaces every string of a JSON value, names of fields included.
func eachString(v *any, fn func(string) string) {
	switch x := (*v).(type) {
	case string:
		*v = fn(x)
	case []any:
		for i := range x {
			eachString(&x[i], fn)
		}
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			eachString(&e, fn)
			out[fn(k)] = e
		}
		*v = out
	}
}
