package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A panic in a handler is an error of that request only, and the log has its stack.
func TestAPanicIsOneRequests(t *testing.T) {
	var log bytes.Buffer
	s := &server{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	_, err := s.recoverPanics(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("no reader for this") })(t.Context(), "resources/read", nil)
	if e := (*jsonrpc.Error)(nil); !errors.As(err, &e) || e.Code != jsonrpc.CodeInternalError || strings.Contains(e.Message, "no reader") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(log.String(), "resources/read") || !strings.Contains(log.String(), "no reader for this") {
		t.Errorf("the log says %s", &log)
	}
}
