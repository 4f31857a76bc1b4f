package classify

import (
	"encoding/json"
	"strings"

	"github.com/kenlayer/ken/guardrail"
)

// rows takes the rows of an answer out of a model's text: the object that was asked
// for, in a fence or behind some prose or reasoning; a bare list; or, of an answer
// that was cut off, the rows that are whole. What is no row is left out.
func rows(text string) []json.RawMessage {
	text = strings.TrimSpace(text)
	if found, ok := object([]byte(text)); ok {
		return found
	}
	text = guardrail.StripReasoning(text)
	var loose []json.RawMessage
	const tries = 256 // each reads up to the whole text
	braces := 0
	for i := 0; i < len(text) && braces < tries; i++ {
		if text[i] != '{' {
			continue
		}
		braces++
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			continue // what is inside may be whole
		}
		if found, ok := object(raw); ok {
			return found
		}
		loose = append(loose, raw)
		i += int(dec.InputOffset()) - 1 // what is inside belongs to it
	}
	return loose
}

// object reads the form that was asked for.
func object(raw []byte) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return list, true
	}
	var o struct {
		Facts []json.RawMessage `json:"facts"`
	}
	if json.Unmarshal(raw, &o) != nil || o.Facts == nil {
		return nil, false
	}
	return o.Facts, true
}

// verdict is a row of pass 2a.
type verdict struct {
	aspect     string
	constraint bool
}

// verdicts reads the rows of pass 2a by number, from 1 to n. A number that is given
// twice, with different verdicts, has none.
func verdicts(text string, n int) map[int]verdict {
	out, bad := map[int]verdict{}, map[int]bool{}
	for _, raw := range rows(text) {
		var r struct {
			I      number  `json:"i"`
			Aspect *string `json:"aspect"`
			Kind   string  `json:"kind"`
		}
		if json.Unmarshal(raw, &r) != nil || r.Aspect == nil || !r.I.within(n) {
			continue
		}
		v := verdict{aspect: *r.Aspect}
		switch strings.ToLower(strings.TrimSpace(r.Kind)) {
		case "constraint":
			v.constraint = true
		case "attribute":
		default:
			continue
		}
		if have, twice := out[int(r.I)]; twice && have != v {
			bad[int(r.I)] = true
		}
		out[int(r.I)] = v
	}
	for i := range bad {
		delete(out, i)
	}
	return out
}

// tie is what a row of pass 2b says: "" for nothing.
type tie struct{ target, kind string }

// ties reads the rows of pass 2b by number, from 1 to n; a fact may have several. One
// that says of nothing is there, empty.
func ties(text string, n int) map[int][]tie {
	out := map[int][]tie{}
	for _, raw := range rows(text) {
		var r struct {
			I      number  `json:"i"`
			Target *string `json:"dep_target"`
			Type   *string `json:"dep_type"`
		}
		if json.Unmarshal(raw, &r) != nil || !r.I.within(n) {
			continue
		}
		t := tie{}
		if r.Target != nil && r.Type != nil {
			t = tie{strings.TrimSpace(*r.Target), strings.ToLower(strings.TrimSpace(*r.Type))}
		}
		if len(out[int(r.I)]) < mostTies {
			out[int(r.I)] = append(out[int(r.I)], t)
		}
	}
	return out
}

// mostTies bounds what one fact may tie its subject to.
const mostTies = 4

// number is a row's, which some models write as a string.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	var i int
	if err := json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &i); err != nil {
		return err
	}
	*n = number(i)
	return nil
}

func (n number) within(most int) bool { return n >= 1 && int(n) <= most }
