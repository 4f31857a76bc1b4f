// Package embed turns texts into vectors, for search by meaning.
//
// An [Embedder] has one vector space. Implementations: package openai calls any
// OpenAI-compatible gateway. In this process, package static uses a table of token
// vectors, and package transformer runs a sentence encoder. [None] means that
// embeddings are off.
//
// Two limits. A text without content to embed has a nil vector, because a zero vector
// would be equally near to everything. And vectors are shared between caches, stores
// and callers: nobody may change one.
package embed
