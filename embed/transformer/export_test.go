package transformer

import "github.com/kenlayer/ken/embed"

// Bytes is what the weights of an embedder of this package take in memory.
func Bytes(e embed.Embedder) int { return e.(*embedder).encoder.Bytes() }
