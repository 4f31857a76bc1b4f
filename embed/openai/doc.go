// Package openai embeds texts through any OpenAI-compatible gateway: OpenAI
// itself, Ollama, vLLM, llama.cpp, LiteLLM and their like.
//
// Only POST /embeddings and GET /models are used. Texts are sent as strings, because
// most gateways don't accept token arrays. One [Embedder.Embed] may send several
// requests, one after the other. No request is repeated: Ken retries in the background.
//
// Every error is a *ken.Error that says what to do: of code invalid when the
// configuration is wrong (the key, the model, the address), of code unavailable when
// the gateway fails (down, slow, throttled, out of order).
//
// A text longer than [Options].TextBytes is cut there, at the boundary of a character;
// blank texts are not sent and have nil vectors.
package openai
