// Package wire reads and extends the body of a model call as the bytes that
// came, without decoding it into a struct and encoding it again. Encoding again
// would lose fields that the struct does not know, zeros that omitempty drops,
// and the provider's prompt cache with them.
//
// It knows four dialects: chat completions, OpenAI's Responses, Anthropic's Messages
// and Ollama's chat. Parse reads what the layer needs into the same messages for all
// of them, Splice puts blocks in, and ParseAnswer reads what the model answered,
// streamed or not. Taking out what Splice put in gives the body back byte for
// byte.
//
// Where a key comes twice in an object, the last one counts, as it does for
// nearly every server. A model's reasoning is never part of a message, and what a
// hosted tool found is the provider's.
package wire
