package jsonl

import "github.com/kenlayer/ken"

// Takes reports whether an export by a filter has a claim. What it means differs from
// a recall in one thing: without kinds, the structural ones are in, since an export
// leaves nothing out.
func Takes(f *ken.Filter, c *ken.Claim) bool {
	all := *f
	all.Structural = true
	return all.Reject(c.Facts()) == ""
}
