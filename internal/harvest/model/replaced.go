package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Replaced reports for each pair whether the later statement means that the earlier one is no
// longer so. It is one request, whatever the number of pairs. It makes none and returns nil if an
// MCP client's model would answer, because most clients ask their user about each request. Errors are those of Draft; there is no second request if the answer can't be used.
func (c *Client) Replaced(ctx context.Context, pairs []draft.Pair) ([]bool, error) {
	if c.opts.Sample != nil {
		return nil, nil
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	type statement struct {
		Day  string `json:"day"`
		Text string `json:"text"`
	}
	type pair struct {
		I       int       `json:"i"`
		Earlier statement `json:"earlier"`
		Later   statement `json:"later"`
	}
	var in struct {
		Pairs []pair `json:"pairs"`
	}
	for i, p := range pairs {
		in.Pairs = append(in.Pairs, pair{i + 1, statement{p.EarlierAt.Format(time.DateOnly), p.Earlier}, statement{p.LaterAt.Format(time.DateOnly), p.Later}})
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write the pairs: %w", err)
	}
	text, _, err := c.ask(ctx, c.task("replaced"), []turn{{"user", string(data)}})
	if err != nil {
		return nil, err
	}
	object, problem := findObject(text)
	var numbers []int
	if problem == "" && json.Unmarshal(object["replaced"], &numbers) != nil {
		problem = "replaced: not a list of numbers"
	}
	if problem != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnusable, problem)
	}
	out := make([]bool, len(pairs))
	for _, n := range numbers {
		if n >= 1 && n <= len(out) {
			out[n-1] = true
		}
	}
	return out, nil
}
