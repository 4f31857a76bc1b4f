package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// An error must say how to mend the call: a model has nothing else to go by.
func TestArgumentErrors(t *testing.T) {
	k := newKit(t)
	before := k.count()
	for _, tt := range []struct{ name, tool, args, want string }{
		{"missing", "memory_recall", `{}`, "query: is missing, expected a string"},
		{"nothing at all", "memory_recall", ``, "query: is missing"},
		{"null", "memory_recall", `null`, "query: is missing"},
		{"misspelled", "memory_recall", `{"qury":"x","query":"x"}`, "there is no such field; did you mean query?"},
		{"unknown", "memory_recall", `{"query":"x","zzzzzzzz":1}`, "there are documents, kinds, limit, min_trust, query, statuses"},
		{"wrong case", "memory_recall", `{"Query":"x"}`, "did you mean query?"},
		{"wrong type", "memory_recall", `{"query":"x","limit":"ten"}`, `limit: is "ten", expected a whole number from 1 to 50`},
		{"out of range", "memory_recall", `{"query":"x","limit":0}`, "limit: is 0, expected a whole number from 1 to 50"},
		{"not whole", "memory_recall", `{"query":"x","limit":2.5}`, "expected a whole number"},
		{"beyond float64", "knowledge_learn", `{"claim":"x","evidence":[],"confidence":1e999}`, "confidence: is 1e999, expected a number from 0 to 1"},
		{"empty", "memory_recall", `{"query":""}`, "query: is empty"},
		{"too long", "memory_recall", `{"query":"` + strings.Repeat("x", 2001) + `"}`, "query: has 2001 characters, expected at most 2000"},
		{"not an object", "memory_recall", `["x"]`, "is a list, expected an object"},
		{"a string", "memory_recall", `"x"`, `is "x", expected an object`},
		{"not JSON", "memory_recall", `{"query":`, "the arguments are not JSON"},
		{"two values", "memory_recall", `{"query":"x"} {}`, "something follows the object"},
		{"not UTF-8", "memory_recall", "{\"query\":\"\xff\"}", "not valid UTF-8"},
		{"too large", "memory_recall", `{"query":"` + strings.Repeat("x", 300_000) + `"}`, "262144 is the most"},
		{"enum", "knowledge_learn", `{"claim":"x","evidence":[{"kind":"fil"}]}`, "evidence[0].kind: is \"fil\", expected one of agent_assertion"},
		{"enum, nearest", "knowledge_learn", `{"claim":"x","evidence":[{"kind":"fil"}]}`, "did you mean file?"},
		{"a person's word", "knowledge_learn", `{"claim":"x","evidence":[{"kind":"human_assertion"}]}`, "evidence[0].kind"},
		{"several at once", "memory_recall", `{"limit":99,"kinds":[1]}`, "kinds[0]: is 1, expected a string"},
		{"too many", "memory_recall", `{"query":"x","kinds":["a","b","c","d","e","f","g","h","i","j","k"]}`, "has 11 elements, expected at most 10"},
		{"a file without its path", "knowledge_learn", `{"claim":"x","evidence":[{"kind":"file"}]}`, "evidence[0].path: is missing in file evidence"},
		{"owner", "memory_recall", `{"query":"x","owner":"other"}`, "owner: there is no such field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := k.fails(ken.CodeInvalid, tt.tool, tt.args)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if !strings.Contains(got, "\nTry: ") || len(got) > 2500 {
				t.Errorf("%d bytes without advice: %q", len(got), got)
			}
		})
	}
	if n := k.count(); n != before {
		t.Errorf("calls that were refused wrote %d claims", n-before)
	}
}

// The error shows arguments that would be right, and they are.
func TestExamplesAreRight(t *testing.T) {
	k := newKit(t)
	got := k.fails(ken.CodeInvalid, "memory_recall", `{}`)
	_, example, ok := strings.Cut(got, "arguments such as ")
	if !ok || !json.Valid([]byte(example)) {
		t.Fatalf("no example in %q", got)
	}
	k.call(nil, "memory_recall", example)
}
