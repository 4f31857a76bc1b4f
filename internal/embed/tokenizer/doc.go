// Package tokenizer cuts texts into tokens as Hugging Face's tokenizer.json describes it, for
// models of the types WordPiece and Unigram and the normalisers and pre-tokenizers that such
// models use. Anything else is refused by name: a text cut otherwise than in training gives
// vectors that mean nothing.
//
// Special tokens written out in a text, such as [PAD], are plain text here: a text must not
// be able to end itself.
package tokenizer
