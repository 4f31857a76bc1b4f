package model

import (
	"encoding/json"
	"strings"

	"github.com/kenlayer/ken/guardrail"
)

// findObject takes the JSON object out of a model's text: the text itself, or what
// is left of it without reasoning; in a fence, or after and before some prose. It
// must have one of the fields that are asked for, so that an example in the
// prose is not taken for the answer.
func findObject(text string) (object map[string]json.RawMessage, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, "the answer is empty"
	}
	// Whole JSON comes first: a fact that mentions a tag of reasoning would
	// otherwise be cut off with all that follows it.
	if json.Unmarshal([]byte(text), &object) == nil && asked(object) {
		return object, ""
	}
	text = guardrail.StripReasoning(text)
	if strings.TrimSpace(text) == "" {
		return nil, "the answer is thinking and nothing else"
	}
	const tries = 64 // each reads up to the whole text
	braces := 0
	for i := 0; i < len(text) && braces < tries; i++ {
		if text[i] != '{' {
			continue
		}
		braces++
		object = nil
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		if dec.Decode(&object) != nil {
			continue
		}
		if asked(object) {
			return object, ""
		}
		i += int(dec.InputOffset()) - 1 // what is inside belongs to it
	}
	if braces > 0 {
		return nil, "no complete JSON object with the fields that were asked for: it is cut off, malformed, or another one"
	}
	return nil, "it is prose and not a JSON object"
}

func asked(object map[string]json.RawMessage) bool {
	_, summary := object["summary"]
	_, facts := object["facts"]
	return summary || facts
}
