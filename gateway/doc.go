// Package gateway is an HTTP proxy that adds Ken's knowledge to model calls. A client in
// any language points its base URL at the proxy. Nothing else about its traffic changes.
//
// Model calls (/v1/chat/completions, /v1/responses, /v1/messages, and Ollama's
// /api/chat) go through the layer. It inserts blocks into the body and leaves every other
// byte as it is. A copy of the answer goes to the session's journal once the client has
// read it. A token count request gets the same blocks, and nothing of it is kept. Requests
// for responses over a WebSocket, as Codex sends them, are handled alike. Any other request
// is passed on with its path, query, headers and body as they came. All answers are passed
// back as they come, an event at a time, broken ones included.
//
// Ken's own paths are never passed on: those of its API under /api, /mcp, /console,
// /metrics, and the health checks /healthz and /readyz.
//
// Headers that start with X-Ken are for Ken and are never passed on:
//
//	X-Ken: off              pass this request through untouched
//	X-Ken: on               don't take this request for an agent's side call
//	X-Ken-Incognito: 1      add what is known, keep nothing
//	X-Ken-Key               a key of gateway.keys; Authorization and x-api-key can hold it too
//	X-Ken-Owner             whose knowledge, where no keys are configured
//	X-Ken-Project           the project, where the key names none
//	X-Ken-Session           the session; see wire.SessionOf for what else names it
//	X-Ken-Agent, -Branch    who asks, and on which branch of the project
//	X-Ken-Scopes            scopes, separated by commas, that the turn may see of those it could
//
// An answer to a model call has X-Ken-Turn, X-Ken-Mode and an entry in
// Server-Timing. It has X-Ken-Policy if a rule of the configuration applied, or if it is a
// side call (X-Ken-Mode is "side" then). An answer to a call that could not be inspected has
// X-Ken-Untouched with the reason. An error answer of the gateway itself has X-Ken-Error
// with an error code, in the format of the API that the client uses.
package gateway
