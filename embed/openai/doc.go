// Package openai embeds texts through any OpenAI-compatible gateway: OpenAI
// itself, Ollama, vLLM, llama.cpp, LiteLLM and their like.
//
// Only POST /embeddings and GET /models are used. Texts are sent as strings,
// never as token arrays, which most gateways don't read. One [Embedder.Embed] may
// send several requests, one after the other; none is ever sent twice:
// what Ken puts around an embedder tries again in the background.
//
// Every wrong answer is a *ken.Error that says what to do about it: of code
// invalid when the configuration is wrong (the key, the model, the address), of
// code unavailable when the gateway is (down, slow, throttled, out of order).
//
// A text longer than [Options].TextBytes is cut there, at the border of a
// character; blank texts are not sent and have nil vectors.
package openai
