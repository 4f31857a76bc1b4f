package tools

import (
	"context"
	"errors"
	"strconv"

	"github.com/kenlayer/ken"
)

// listIn are memory_list's arguments.
type listIn struct {
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision or hot"`
	Statuses []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=10000" jsonschema:"next of the page before"`
}

// Listed is a page of a list, newest first.
type Listed struct {
	Claims []Claim `json:"claims"`
	Next   int     `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (l *Listed) Write(p *Page) {
	if len(l.Claims) == 0 {
		p.Line("There is nothing on this page.")
	} else {
		p.Line(strconv.Itoa(len(l.Claims)) + " listed, newest first.")
	}
	if l.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(l.Next))
	}
	for i := range l.Claims {
		p.Item(&l.Claims[i])
	}
}

func memoryList() Tool {
	return Define(Spec{Name: "memory_list", Title: "List what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what is known, newest first, in pages. To answer a question use memory_recall.",
		Example:     `{"kinds":["fact"],"limit":10}`},
		func(ctx context.Context, c *Call, in listIn) (*Listed, error) {
			if in.Limit == 0 {
				in.Limit = 10
			}
			f := c.filter(statuses(in.Statuses))
			f.Kinds, f.MinTrust, f.Now = kinds(in.Kinds), c.r.layer.Config().Retrieval.MinTrust, c.Now()
			found, err := c.Store.Newest(ctx, &f, in.Offset+in.Limit+1)
			if err != nil {
				return nil, err
			}
			hits := found.Hits[min(in.Offset, len(found.Hits)):]
			out := &Listed{Claims: []Claim{}}
			if len(hits) > in.Limit {
				hits, out.Next = hits[:in.Limit], in.Offset+in.Limit
			}
			for _, h := range hits {
				k, err := c.Store.Claim(ctx, h.Ref)
				if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
					continue
				}
				if err != nil {
					return nil, err
				}
				out.Claims = append(out.Claims, c.show(k))
			}
			return out, nil
		})
}
