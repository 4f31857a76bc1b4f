package model

import (
	"context"
	"encoding/json"

	"github.com/kenlayer/ken"
)

// Question is a request for JSON about something else than a session.
type Question struct {
	Name        string          // of the answer's form, for the endpoint: letters, digits and underscores
	System      string          // the rules
	User        string          // the data
	Schema      json.RawMessage // of the answer
	Temperature float64         // 0..2; 0 is the coldest
}

// Ask sends one question and returns the model's text as it came, which may be
// anything: reading it is the caller's business. An endpoint that refuses the schema
// or the temperature is asked without, as by Draft. Errors are those of Draft, without
// ErrUnusable.
func (c *Client) Ask(ctx context.Context, q Question) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if !json.Valid(q.Schema) {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "schema", Msg: "not valid JSON", Try: "Give a JSON schema."}
	}
	t := task{name: q.Name, rules: q.System, schema: q.Schema, warmth: max(q.Temperature, coldest)}
	text, _, err := c.ask(ctx, t, []turn{{"user", q.User}})
	return text, err
}
