// Package gateway is an HTTP proxy that adds Ken's knowledge to model calls. A client in
// any language points its base URL at the proxy. Nothing else about its traffic changes.
//
// Model calls (/v1/chat/completions, /v1/responses, /v1/messages, and Ollama's /api/chat) go
// through the layer. It inserts blocks into the body and changes no other byte. A copy of the
// answer goes to the session's journal after the client has read it. A token count request gets the
// same blocks, but nothing is kept of it. Requests for responses over a WebSocket, as Codex sends
// them, are handled in the same way. Any other request is passed on with its path, query, headers
// and body unchanged. All answers are passed back as they arrive, event by event, including those
// that break off.
//
// Ken's own paths are never passed on: those of its API under /api, /mcp, /console,
// /metrics, and the health checks /healthz and /readyz.
//
// Headers that start with X-Ken are for Ken and are never passed on:
//
//	X-Ken: off              pass this request through untouched
//	X-Ken: on               don't treat this request as an agent's side call
//	X-Ken-Incognito: 1      add knowledge, but keep nothing
//	X-Ken-Key               a key of gateway.keys; Authorization and x-api-key can hold it too
//	X-Ken-Owner             the owner of the knowledge, if no keys are configured
//	X-Ken-Project           the project, if the key names none
//	X-Ken-Session           the session; without it, ids that agents send, and then the beginning of the conversation
//	X-Ken-Agent, -Branch    the calling agent, and its branch of the project
//	X-Ken-Scopes            scopes, separated by commas, that narrow what the turn may see
//
// An answer to a model call has X-Ken-Turn, X-Ken-Mode and an entry in
// Server-Timing. It has X-Ken-Policy if a rule of the configuration applied, or if it is a
// side call (X-Ken-Mode is "side" then). An answer to a call that went on without new
// knowledge has X-Ken-Untouched with the reason. An error answer of the gateway itself has X-Ken-Error
// with an error code, in the format of the API that the client uses.
package gateway
