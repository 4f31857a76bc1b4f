package remote

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Known implements store.Structure. Without an answer no name is known.
func (c *Client) Known(names []string) []bool {
	if len(names) > 0 {
		ctx, cancel := c.soon()
		defer cancel()
		if known, err := ask[[]string, []bool](ctx, c, kKnown, &names); err == nil && len(known) == len(names) {
			return known
		}
	}
	return make([]bool, len(names))
}

// Outlines implements store.Structure, in one round trip: the rows of what it returns
// come with it.
func (c *Client) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	if len(names) == 0 {
		return []store.Outline{}, nil
	}
	a, commit, err := call[outlinesRequest, outlinesAnswer](ctx, c, kOutlines, &outlinesRequest{names, *f, o})
	if err != nil {
		return nil, err
	}
	if err := c.cache.see(commit, "", a.Sight); err != nil {
		return nil, &LostError{Sent: true, Err: err}
	}
	return a.Outlines, nil
}

// Referring implements store.Projections, in one round trip: the rows come with it.
func (c *Client) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	a, commit, err := call[referringRequest, referringAnswer](ctx, c, kReferring, &referringRequest{names, *f})
	if err != nil {
		return nil, err
	}
	if err := c.cache.see(commit, "", a.Sight); err != nil {
		return nil, &LostError{Sent: true, Err: err}
	}
	return a.Refs, nil
}

// Names implements store.Structure.
func (c *Client) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return store.AllNames(ctx, f, c.NamesAfter)
}

// NamesAfter is store.Served's.
func (c *Client) NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	a, err := ask[namesRequest, namesAnswer](ctx, c, kNames, &namesRequest{*f, after, n})
	return a.Page, a.More, err
}

// outlined are the records that outlines name.
func outlined(outlines []store.Outline) (refs []store.Ref) {
	for i := range outlines {
		o := &outlines[i]
		refs = append(refs, o.Constraints...)
		for j := range o.Links {
			refs = append(refs, o.Links[j].Ref)
		}
		for j := range o.Aspects {
			refs = append(refs, o.Aspects[j].Top...)
		}
	}
	return refs
}
