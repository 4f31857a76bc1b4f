package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Replaced reports for each fresh statement which known ones are no longer so because of it, by their
// indices. It is one request. It makes none and returns nil if an MCP client's model would answer,
// because most clients ask their user about each request. Errors are those of Draft; there is no
// second request if the answer can't be used.
func (c *Client) Replaced(ctx context.Context, known, fresh []draft.Dated) ([][]int, error) {
	if c.opts.Sample != nil {
		return nil, nil
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	type statement struct {
		I    int    `json:"i"`
		Day  string `json:"day"`
		Text string `json:"text"`
	}
	numbered := func(all []draft.Dated) (out []statement) {
		for i, d := range all {
			out = append(out, statement{i + 1, d.At.Format(time.DateOnly), d.Text})
		}
		return out
	}
	data, err := json.Marshal(map[string][]statement{"known": numbered(known), "new": numbered(fresh)})
	if err != nil {
		return nil, fmt.Errorf("write the statements: %w", err)
	}
	text, _, err := c.ask(ctx, c.task("replaced"), []turn{{"user", string(data)}})
	if err != nil {
		return nil, err
	}
	object, problem := findObject(text)
	var pairs []struct{ Known, New int }
	if problem == "" && json.Unmarshal(object["replaced"], &pairs) != nil {
		problem = "replaced: not a list of pairs of numbers"
	}
	if problem != "" {
		return nil, c.unusable("answered in another form than requested: " + problem)
	}
	out := make([][]int, len(fresh))
	for _, p := range pairs {
		if p.New >= 1 && p.New <= len(fresh) && p.Known >= 1 && p.Known <= len(known) {
			out[p.New-1] = append(out[p.New-1], p.Known-1)
		}
	}
	return out, nil
}
