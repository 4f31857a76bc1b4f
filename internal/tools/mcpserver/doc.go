// Package mcpserver serves the tools of a registry to any MCP client: over standard input and
// output ([Serve]), over streamable HTTP ([Handler]), or over a transport of the program
// ([NewServer]).
//
// A client gets the tools that are offered to its caller, answers as text, MEMORY.md, claims and
// receipts as resources, and a prompt that asks a question together with what is known. Tools that
// are not listed can still be called by name. Output schemas and structured content are optional:
// see [Options]. A faulty call returns a tool error, which the model can read and correct; an
// unknown tool or resource is a protocol error.
//
// The owner comes from the process or, over HTTP, from the request's key. The session is the MCP
// session. Neither is ever an argument. An MCP session has no journal, because tool calls are not a
// conversation. Claims learned in it carry its id.
package mcpserver
