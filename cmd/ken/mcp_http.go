package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kenlayer/ken"
	mcpserver "github.com/kenlayer/ken/internal/tools/mcp"
	"github.com/kenlayer/ken/tools"
)

// mcpGrace is what requests that are under way get to finish when the server ends.
const mcpGrace = 2 * time.Second

// loopbackAddress refuses an address that others could reach: there is no key here.
func loopbackAddress(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--http", Msg: addr + " is not an address with a port", Try: "Give one such as 127.0.0.1:7777."}}
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return usage{&ken.Error{Code: ken.CodeRefused, Field: "--http", Msg: addr + " can be reached from other machines, and nobody is asked for a key here",
		Try: "Give an address such as 127.0.0.1:7777, or use ken serve with keys."}}
}

// serveMCP serves streamable HTTP until ctx ends.
func (a *app) serveMCP(ctx context.Context, addr string, r *tools.Registry, c tools.Caller, o mcpserver.Options) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--http", Msg: "listen on " + addr, Err: err, Try: "Choose another port."}
	}
	handler := mcpserver.Handler(r, func(*http.Request) (tools.Caller, error) { return c, nil }, o)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	fmt.Fprintf(a.err, "ken: serving MCP at http://%s/mcp\n", ln.Addr())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	select {
	case err = <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpGrace)
	defer cancel()
	err = handler.Close()
	if srv.Shutdown(grace) != nil {
		err = errors.Join(err, srv.Close())
	}
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return err
}
