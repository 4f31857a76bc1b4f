package transformer

import "github.com/kenlayer/ken/embed"

// Bytes returns how much memory the weights of an embedder of this package take.
func Bytes(e embed.Embedder) int { return e.(*embedder).encoder.Bytes() }
