package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTime bounds how long calls may go on when their client has sent its last: one
// that was piped in reads on, one that died does not.
const drainTime = 5 * time.Second

// drained is a transport whose end of input waits for the calls that are under way.
// The SDK drops them.
type drained struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (d drained) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainedConn{Connection: c, open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1)}, nil
}

type drainedConn struct {
	mcp.Connection
	idle chan struct{} // gets a token when nothing is open any more

	mu     sync.Mutex // guards the rest
	open   map[jsonrpc.ID]bool
	broken bool // nobody reads what is written
}

// Read implements mcp.Connection.
func (c *drainedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	switch req, ok := m.(*jsonrpc.Request); {
	case errors.Is(err, io.EOF):
		c.wait(ctx)
	case err == nil && ok && req.ID.IsValid():
		c.mu.Lock()
		c.open[req.ID] = true
		c.mu.Unlock()
	}
	return m, err
}

// Write implements mcp.Connection.
func (c *drainedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp, ok := m.(*jsonrpc.Response); ok {
		delete(c.open, resp.ID)
	}
	c.broken = c.broken || err != nil
	if len(c.open) == 0 || c.broken {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *drainedConn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0 && !c.broken
}

// wait returns when nothing is open, or nobody can be answered, or it takes too long.
func (c *drainedConn) wait(ctx context.Context) {
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	for c.busy() {
		select {
		case <-c.idle:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
