package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/tools"
)

// maxLine is the maximum size of a client's message: 4 MiB, as over HTTP.
const maxLine = 4 << 20

// Serve serves one client over in and out, with one JSON-RPC message per line, until in ends or ctx
// does. Requests received before in ended are still answered. Only messages are written to out. A
// line that is not a message is answered with an error and otherwise ignored. Serve returns errors of
// writing to out, and nil if in ended.
func Serve(ctx context.Context, r *tools.Registry, c tools.Caller, in io.Reader, out io.Writer, o Options) error {
	o = o.withDefaults()
	w := &lockedWriter{w: out}
	pr, pw := io.Pipe()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends when in ends, which can't be closed from here, or when the reader of the pipe ends
		_ = pw.CloseWithError(filterLines(in, pw, w))
	}()
	err := newServer(r, c, o, nil).Run(ctx, drainTransport{&mcp.IOTransport{Reader: pr, Writer: w}})
	_ = pr.Close()
	switch {
	case w.failed() != nil:
		return w.failed()
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		return nil
	}
	return err
}

// filterLines passes on the lines that are messages and answers other lines itself, because one bad
// line would end the SDK's session.
func filterLines(in io.Reader, to io.Writer, answer io.Writer) error {
	br := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(br)
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			if refusal := rejectLine(line, tooLong); refusal != nil {
				if _, err := answer.Write(refusal); err != nil {
					return err
				}
			} else if _, err := to.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line but keeps at most maxLine bytes of it.
func readLine(br *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// rejectLine returns the error answer to a line that is not a message; nil for a message.
func rejectLine(line []byte, tooLong bool) []byte {
	code := jsonrpc.CodeInvalidRequest
	var msg string
	switch {
	case tooLong:
		msg = "the message is longer than 4 MiB"
	case !json.Valid(line):
		code, msg = jsonrpc.CodeParseError, "the line is not JSON"
	case line[0] == '[':
		msg = "batches are not supported: send one message a line"
	default:
		if _, err := jsonrpc.DecodeMessage(line); err == nil {
			return nil
		}
		msg = "the line is not a JSON-RPC 2.0 message"
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": msg}})
	if err != nil {
		return nil
	}
	return append(b, '\n')
}

// lockedWriter lets two writers write complete messages, and keeps the first error.
type lockedWriter struct {
	mu  sync.Mutex // guards the rest
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.w.Write(b)
	if err != nil && l.err == nil {
		l.err = err
	}
	return n, err
}

// Close implements io.Closer. It does not close the underlying writer, which belongs to the caller.
func (l *lockedWriter) Close() error { return nil }

func (l *lockedWriter) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// drainTime is how long calls may continue after the end of input. A piped client still reads the
// answers; a dead one does not.
const drainTime = 5 * time.Second

// drainTransport is a transport that waits for running calls at the end of input, because the SDK
// drops them.
type drainTransport struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (d drainTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainConn{Connection: c, open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1)}, nil
}

type drainConn struct {
	mcp.Connection
	idle chan struct{} // receives a token when no call is running

	mu     sync.Mutex // guards the rest
	open   map[jsonrpc.ID]bool
	broken bool // writing failed: the client no longer reads
}

// Read implements mcp.Connection.
func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
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
func (c *drainConn) Write(ctx context.Context, m jsonrpc.Message) error {
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

func (c *drainConn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0 && !c.broken
}

// wait returns when no call is running, when the client is gone, or after drainTime.
func (c *drainConn) wait(ctx context.Context) {
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
