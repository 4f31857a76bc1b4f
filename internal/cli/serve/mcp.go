package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/tools"
)

type mcpOptions struct {
	http           string
	project, agent string
	scopes         []string
	tools          string
	readOnly       bool
	structured     bool
}

func (a *commands) mcpCommand() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve what Ken knows to an MCP client",
		Long: "Serve what Ken knows to any MCP client: tools to search, learn, verify, dispute and explain, claims and MEMORY.md as " +
			"resources, and a prompt that asks with what is known. Without flags it speaks over standard input and output, as a client " +
			"that starts it expects, and ends when the client does. Standard output carries nothing but the protocol; what else is to be " +
			"said goes to standard error.\n\n" +
			"A client lists the tools of --tools, else of tools.profile; the others answer when they are called by name. Over HTTP the address " +
			"may say so as well: /mcp?tools=core,code. Profiles: " + cli.ProfileNames() + ".\n\n" +
			"Any number of these may run beside each other, and beside every other command, on one project.\n\n" +
			"--http serves streamable HTTP at the path /mcp instead, on this machine only and without a key. To serve it to others, with " +
			"keys, use ken serve.",
		Example: `  claude mcp add ken -- ken mcp
  ken mcp --tools core,code
  ken mcp --read-only
  ken mcp --http 127.0.0.1:7777`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.http, "http", "", "serve streamable HTTP on this loopback `ADDRESS`, such as 127.0.0.1:7777")
	f.StringVar(&o.project, "project", "", "the `NAME` of the project that what is learned carries")
	f.StringVar(&o.agent, "agent", "", "the `NAME` of the agent in histories; default what the client calls itself")
	f.StringArrayVar(&o.scopes, "scope", nil, "show only claims of this scope, as `TYPE:ID`, and unscoped ones (repeatable)")
	f.StringVar(&o.tools, "tools", "", "the tools that are listed: `NAMES` of profiles and tools, separated by commas; default tools.profile")
	f.BoolVar(&o.readOnly, "read-only", false, "offer nothing that changes what is known")
	f.BoolVar(&o.structured, "structured", false, "add output schemas and structured answers, for clients that are programs")
	return cmd
}

func (o *mcpOptions) caller(owner string) (tools.Caller, error) {
	c := tools.Caller{Owner: owner, Project: o.project, Agent: o.agent, Rights: []tools.Right{tools.Read, tools.Write}}
	if o.readOnly {
		c.Rights = []tools.Right{tools.Read}
	}
	var err error
	c.Scopes, err = cli.ParseScopes(o.scopes)
	return c, err
}

func (a *commands) mcp(ctx context.Context, o *mcpOptions) error {
	c, err := o.caller(a.Owner)
	if err != nil {
		return err
	}
	if err := loopbackAddress(o.http); err != nil {
		return err
	}
	log := a.Logger()
	r, err := a.Resolve()
	if err != nil {
		return err
	}
	if c.Offer, err = cli.ToolNames(o.tools, r.Config); err != nil {
		return err
	}
	a.WarnUntrusted(r)
	if err := cli.SkipFiles(r, func(said string) { log.Warn(said) }); err != nil {
		return err
	}
	p := a.Progress()
	defer p.Done()
	l, err := a.Layer(ctx, p, func(lo *middleware.Options) {
		lo.Config, lo.Foreground, lo.Watch, lo.Progress = &r.Config, false, true, nil // it runs as long as its client, so the background updates it
	})
	if err != nil {
		return err
	}
	registry := tools.New(l, func(to *tools.Options) { to.Log = log })
	so := mcpserver.Options{Version: cli.Version(), Log: slog.New(slog.DiscardHandler), Structured: o.structured}
	if r.Config.HarvestSampling() {
		so.OnSampler = l.Operator().AddSampler
	}
	if o.http != "" {
		err = a.serveMCP(ctx, o.http, registry, c, so)
	} else {
		if cli.IsTerminal(a.In) {
			fmt.Fprintln(a.Err, "ken: waiting for an MCP client on standard input; to add Ken to one: claude mcp add ken -- ken mcp")
		}
		c.Session = "mcp-" + uuid.Must(uuid.NewV7()).String()
		err = mcpserver.Serve(ctx, registry, c, a.In, a.Out, so)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // the normal end
		err = nil
	}
	return errors.Join(err, l.Close())
}

// mcpGrace is how long running requests may take to finish when the server ends.
const mcpGrace = 2 * time.Second

// loopbackAddress returns an error for an address that other machines can reach, because
// there are no keys here.
func loopbackAddress(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return cli.Invalid("--http", addr+" is not an address with a port", "Give one such as 127.0.0.1:7777.")
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return cli.UsageError(&ken.Error{Code: ken.CodeRefused, Field: "--http", Msg: addr + " can be reached from other machines, and nobody is asked for a key here",
		Try: "Give an address such as 127.0.0.1:7777, or use ken serve with keys."})
}

// serveMCP serves streamable HTTP until ctx ends.
func (a *commands) serveMCP(ctx context.Context, addr string, r *tools.Registry, c tools.Caller, o mcpserver.Options) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--http", Msg: "listen on " + addr, Err: err, Try: "Choose another port."}
	}
	handler := mcpserver.Handler(r, func(*http.Request) (tools.Caller, error) { return c, nil }, o)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	fmt.Fprintf(a.Err, "ken: serving MCP at http://%s/mcp\n", ln.Addr())
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
