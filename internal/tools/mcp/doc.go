// Package mcpserver serves the tools of a registry to any MCP client: over standard
// input and output ([Serve]), over streamable HTTP ([Handler]), or over a transport of
// the program's own ([NewServer]).
//
// A client gets the tools that its caller is offered, answers as text, MEMORY.md, claims
// and receipts as resources, and a prompt that asks with what is known. Tools that are not
// listed answer when they are called by name. Output schemas and structured content come
// on request: see [Options]. What is wrong with a call comes back as a tool's error,
// which the model can read and mend; an unknown tool or resource is an error of the
// protocol.
//
// Whose knowledge it is comes from the process or, over HTTP, from whoever looked at
// the request's key; the session is the MCP session. Neither is ever an argument. An
// MCP session has no journal: calls of tools are no conversation. What is learned in
// it carries its id.
package mcpserver
