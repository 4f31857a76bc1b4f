package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/tools"
)

// NewServer returns a server with the SDK's session ids.
func NewServer(r *tools.Registry, c tools.Caller, o Options) *mcp.Server {
	return newServer(r, c, o.withDefaults(), nil)
}
