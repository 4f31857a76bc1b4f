package classify

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Request is one question to a model.
type Request struct {
	Name        string // of the answer's form: letters and underscores
	System      string // the rules
	User        string // the data, as JSON
	Schema      json.RawMessage
	Temperature float64
}

// Ask sends a request to a model and returns its text, as it came. An error means
// that there was no answer. It must be safe for concurrent use.
type Ask func(ctx context.Context, r Request) (string, error)

// temperature of every request: sorting is no matter of taste.
const temperature = 0.1

// thinkers are models that think unless they are told not to, and read the switch.
// Later ones of the same names don't know it, and would take it for a word.
var thinkers = lazyregexp.New(`(?:^|[/_.-])(?:qwen-?3(?:-(?:\d+(?:\.\d+)?b|a\d+b)|[:_-]|$)|smollm-?3(?:[:_-]|$))`)

var unswitched = lazyregexp.New(`2507|coder|next|vl|omni|embed|rerank`)

// NoThink reports whether a model of that name knows the switch /no_think, which
// keeps it from reasoning before it answers.
func NoThink(model string) bool {
	model = strings.ToLower(model)
	return thinkers.MatchString(model) && !unswitched.MatchString(model)
}

// request makes the request of a task. data becomes JSON, in which no text can look
// like the end of itself.
func (c *Classifier) request(t task, data any) (Request, error) {
	user, err := json.Marshal(data)
	if err != nil {
		return Request{}, err
	}
	r := Request{Name: t.name, System: t.rules, User: string(user), Schema: t.schema, Temperature: temperature}
	if NoThink(c.o.Model) {
		r.User += "\n/no_think"
	}
	return r, nil
}
