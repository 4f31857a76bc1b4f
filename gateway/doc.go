// Package gateway is the layer as a proxy: a client in any language points its
// base URL at it, and each of its model calls carries what Ken knows. Nothing else
// about its traffic changes.
//
// Model calls (/v1/chat/completions, /v1/responses, /v1/messages, and Ollama's
// /api/chat) go through the layer: blocks are spliced into the body, every other byte
// stays, and a copy of the answer goes to the session's journal once the client has
// read it. A request that counts the tokens of a call gets the same blocks, and leaves
// nothing. The layer looks into the requests for responses that a client sends over a
// WebSocket, too, as Codex does. Any other request is passed on with its path, query, headers and body as
// they came. All answers are passed back as they come, an event at a time, broken ones
// included.
//
// Ken's own paths are never passed on: what its API has under /api, /mcp, /console,
// /metrics, and the two for whoever watches over the process, /healthz and /readyz.
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
// Server-Timing, and X-Ken-Policy where a rule of the configuration decided what the call
// gets and leaves, or where it is a side call (X-Ken-Mode is "side" then); one to a call that could not be looked into has X-Ken-Untouched with
// the reason. An answer that the gateway made by itself because something went
// wrong has X-Ken-Error with a word for it, and the shape of the API that the
// client speaks.
package gateway
