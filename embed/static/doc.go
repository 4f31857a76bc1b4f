// Package static embeds texts in this process, without a network and without cgo: a
// text's vector is the mean of its tokens' vectors in a table. It takes some ten
// microseconds per text. It is weaker than a transformer, because it ignores the order
// of words.
//
// [Open] reads the folder that model2vec writes: model.safetensors (the tensors
// embeddings; mapping and weights with a quantised vocabulary) and tokenizer.json.
// Tokenizers of the types WordPiece and Unigram are supported, with the normalisers and
// pre-tokenizers that such models use. Any other type is an error that names it,
// because a text that is split differently than in training would get meaningless
// vectors.
//
// Differences from model2vec: vectors have unit length whatever config.json says (this
// doesn't change cosines); a text with no known token has a nil vector instead of
// zeros; a text is cut at 32 KiB instead of 512 tokens; and special tokens written out
// in a text, such as [PAD], are ordinary text.
package static
