// Package tokenizer splits texts into tokens as Hugging Face's tokenizer.json describes it.
// It supports models of the types WordPiece and Unigram, and the normalisers and
// pre-tokenizers that such models use. Anything else is an error that names it: a text that
// is split differently than in training would get meaningless vectors.
//
// Special tokens written out in a text, such as [PAD], are ordinary text here, so that a text
// can't end itself.
package tokenizer
