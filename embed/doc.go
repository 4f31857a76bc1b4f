// Package embed turns texts into vectors: the numbers behind search by meaning.
//
// An [Embedder] is one vector space. Implementations: package openai asks any
// OpenAI-compatible gateway; in this process, package static works from a table of
// token vectors and package transformer runs a sentence encoder; [None] says that
// embeddings are off.
//
// Two caveats. A text in which there is nothing to embed has a nil vector, not a
// zero one: a zero vector is as near to everything as to nothing. And vectors are
// shared between caches, stores and callers: nobody changes one.
package embed
