package cases

import (
	"context"
	"fmt"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// outcome is what a conversation came to: its last request.
type outcome struct {
	receipt ken.Receipt
	earlier []ken.Receipt     // of the requests before
	block   string            // the turn's own block, if the model gets it
	text    string            // all that is put in front of the model
	items   []ken.Item        // of the blocks in text, earlier ones first
	state   *middleware.State // nil when nothing was retrieved at all
}

// converse sends a conversation through the layer as a client does: one request
// for each message of the user's, and one for the whole.
func (r *runner) converse(ctx context.Context, f *fixture, c *Case, owner string) (outcome, error) {
	r.turns++
	t := ken.Turn{Owner: owner, Project: c.Project, Scopes: c.Scopes, Session: fmt.Sprintf("case-%d", r.turns)}
	blocks := map[string][]ken.Item{}
	var a middleware.Assembly
	var receipts []ken.Receipt
	for i, m := range c.Messages {
		if m.Role != "user" && i < len(c.Messages)-1 {
			continue
		}
		if m.Role == "user" { // the requests after it repeat its block
			f.seen = nil
		}
		t.Messages = c.Messages[:i+1]
		a = f.layer.Assemble(ctx, t)
		blocks[a.Receipt.Block] = a.Receipt.Items
		receipts = append(receipts, a.Receipt)
	}
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	out := outcome{receipt: a.Receipt, earlier: receipts[:len(receipts)-1], state: f.seen}
	var texts []string
	for _, in := range a.Insertions {
		texts = append(texts, in.Text)
		out.items = append(out.items, blocks[in.Text]...)
		if in.Text == a.Receipt.Block {
			out.block = in.Text
		}
	}
	out.text = strings.Join(texts, "\n")
	return out, nil
}
