// Package static embeds texts in this process, without a network and without
// cgo: a text's vector is the mean of its tokens' vectors, which a table holds.
// It costs some ten microseconds a text and is weaker than a transformer: it
// knows words, not their order.
//
// [Open] reads the folder that model2vec writes: model.safetensors (the tensors
// embeddings; mapping and weights with a quantised vocabulary) and tokenizer.json.
// Tokenizers of the types WordPiece and Unigram are read, with the normalisers
// and pre-tokenizers that such models use; any other is refused by name, because
// a text cut otherwise than in training gives vectors that mean nothing.
//
// Where the result differs from model2vec's: vectors have unit length whatever
// config.json says (cosine can't tell); a text with no known token has a nil
// vector, not zeros; a text is cut at 32 KiB, not at 512 tokens; and special
// tokens written out in a text, such as [PAD], are plain text.
package static
