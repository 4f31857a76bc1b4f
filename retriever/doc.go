// Package retriever finds the records that are relevant to a turn. Several sources search
// concurrently under one deadline. Reciprocal rank fusion merges their hits into a pool. A ranker
// sorts the pool by absolute evidence. A floor removes records that are not relevant.
//
//	sources ─→ fuse (RRF, pool) ─→ rank (evidence, or the fused order) ─→ floor ─→ top k
//
// Before the search, the structure search determines which entities the turn is about, and what is
// filed under them. Constraints pass every cut and come first. Attributes are a source like any
// other, and get a bonus in the ranking.
//
// Three sources return memory items, which have a budget of their own: pinned records, in every
// turn; the newest episodes of other sessions; and the playbooks that fit the turn, by a floor of
// their own.
//
// A source that fails or is late is left out and reported; the others still count. Every source
// gets the same filter.
package retriever
