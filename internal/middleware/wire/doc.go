// Package wire reads and extends the body of a model call as bytes. It does not decode the body
// into a struct and encode it again, because that would lose unknown fields, and zeros that
// omitempty drops, and so invalidate the provider's prompt cache.
//
// It supports four dialects: chat completions, OpenAI's Responses, Anthropic's Messages and
// Ollama's chat. Parse converts them to the same messages, Splice inserts blocks, and ParseAnswer
// parses the model's answer, streamed or not. Removing what Splice inserted gives the original
// body, byte for byte.
//
// If an object has a key twice, the last one counts, as in nearly all servers. A message never
// contains a model's reasoning. Results of hosted tools are left to the provider.
package wire
