// Package retriever finds what bears on a turn. Several sources search at once
// under one deadline; reciprocal rank fusion forms the pool; a ranker orders the
// pool on absolute evidence; a floor drops what does not bear on the turn at all.
//
//	sources ─→ fuse (RRF, pool) ─→ rank (evidence, or the fused order) ─→ floor ─→ top k
//
// Before them the structure is looked at: which entities the turn is about, and what
// they bring. Constraints pass every cut and come first; attributes are a source like any
// other, and earn something in the ranking by where they stand.
//
// Three sources bring memory instead, which has a budget of its own: what is pinned,
// in every turn; the newest episodes of other sessions; and the playbooks that are
// for what the turn asks, by a floor of their own.
//
// A source that fails or is late is left out and named; the others answer. Every
// source gets the same filter.
package retriever
