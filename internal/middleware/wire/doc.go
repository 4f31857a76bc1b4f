// Package wire reads and extends the body of a model call as bytes, without decoding it into a
// struct and encoding it again. Encoding again would lose unknown fields and zeros that
// omitempty drops, and with them the provider's prompt cache.
//
// It knows four dialects: chat completions, OpenAI's Responses, Anthropic's Messages and
// Ollama's chat. Parse reads them into the same messages, Splice inserts blocks, and
// ParseAnswer reads the model's answer, streamed or not. Removing what Splice inserted gives
// the original body, byte for byte.
//
// If an object has a key twice, the last one counts, as in nearly every server. A model's
// reasoning is never part of a message, and results of hosted tools are left to the provider.
package wire
