// Package serve provides the commands that serve other programs: the gateway and its keys, and the MCP server.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/middleware/hook"
	"github.com/kenlayer/ken/middleware"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.serveCommand(), c.keyCommand(), c.mcpCommand()}
}

const openAI = "https://api.openai.com/v1"

// noUpstream is the value of --upstream for none.
const noUpstream = "none"

type serveOptions struct {
	upstream, listen, log string
	debug, child, shared  bool
}

// check returns an error for flags that contradict each other.
func (o *serveOptions) check() error {
	switch {
	case o.child && o.shared:
		return cli.Usagef("--child is for one program and --shared for several: give one of them")
	case (o.child || o.shared) && o.listen != "":
		return cli.Usagef("--child and --shared listen on a free port: leave out --listen")
	}
	return nil
}

func (a *commands) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway, a proxy that clients use as their base URL",
		Long: "Run a proxy for clients of OpenAI's and Anthropic's API. A client sets its base URL to this address. Each of its chat turns then " +
			"carries what Ken knows, and Ken learns from its sessions. Nothing else about its traffic changes.\n\n" +
			"The upstream is --upstream, else upstream.base_url, else the environment variable OPENAI_BASE_URL, else " + openAI + ". " +
			"Anthropic's API is passed on to gateway.anthropic; when that is not set, to https://api.anthropic.com if the upstream is OpenAI's " +
			"own, and otherwise to the upstream itself. Clients bring their own API keys.\n\n" +
			"Without keys it listens on loopback alone, and whoever can connect may do everything. ken key create makes a key, which counts at once.\n\n" +
			"SIGHUP reads the configuration again: keys and limits change while it serves, and the log says what needs a restart. A file that " +
			"can't be read changes nothing.\n\n" +
			"With --child it serves the one program that started it: it listens on a free port of loopback, prints that as JSON, sends a call to the " +
			"API that its header X-Ken-Upstream names, and ends when its standard input ends. Unless there are keys, it makes one, which is printed, " +
			"too, and which each request needs.\n\n" +
			"With --shared it does so for every program of the project: it prints one line of JSON, and ends after the last of them is gone. A program " +
			"connects to the address under hold, sends a line, and keeps the connection open until it ends itself. Where a shared one runs, its line is printed, and nothing is started.\n\n" +
			"An interrupt, or SIGTERM, has /readyz say so for gateway.notice, lets answers go on for gateway.drain, and then harvests; a second " +
			"one cuts them off.",
		Example: `  ken serve --upstream http://localhost:11434/v1
  ken serve --listen unix:/run/user/1000/ken.sock
  OPENAI_BASE_URL=http://127.0.0.1:8484/v1 my-agent`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.serve(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.upstream, "upstream", "", "the `URL` of the API, version included; "+noUpstream+" serves without one")
	f.StringVar(&o.listen, "listen", "", "the `ADDRESS` to listen on, or unix: and a path; default from the configuration")
	f.StringVar(&o.log, "log", "text", "log as this `FORMAT`: text or json")
	f.BoolVar(&o.child, "child", false, "serve the program that started it, until standard input ends")
	f.BoolVar(&o.shared, "shared", false, "serve the programs of this project until the last one is gone, or print where that is done")
	f.BoolVar(&o.debug, "debug", false, "log more, such as each request for /healthz and /metrics")
	cli.CompleteWords(cmd, "log", "text", "json")
	cmd.AddCommand(a.serveKeyCommand())
	return cmd
}

func (a *commands) serve(ctx context.Context, o serveOptions) error {
	log, err := a.serveLog(o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.child {
		go func() { // runs until standard input or the process ends
			_, _ = io.Copy(io.Discard, a.In)
			stop()
		}()
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // early, because a hangup must not end the process during a slow start
	defer signal.Stop(hangups)
	cfg, from, err := a.serveConfiguration(o, log)
	if err != nil {
		return err
	}
	var place *shared
	if o.shared {
		if place, err = a.takePlace(ctx, cfg); place == nil {
			return err // another one runs, and its address was printed
		}
		place.stop = stop
		defer func() { _ = place.Close() }()
		context.AfterFunc(ctx, func() { _ = place.Close() })
	}
	keyed, err := a.withCreatedKeys(cfg)
	if err != nil {
		return err
	}
	in, err := gateway.Listen(keyed.Gateway)
	if err != nil {
		return err
	}
	debug, err := gateway.ListenDebug(keyed.Gateway)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	if debug != nil {
		defer func() { _ = debug.Close() }() // it may be closed already
	}
	up, err := serveUpstream(o.upstream, cfg, in.Addr())
	if err != nil {
		return errors.Join(err, in.Close())
	}
	p := a.Progress()
	defer p.Done()
	s, err := newServing(ctx, cfg, log, up)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	s.child = o.child
	if (o.child || o.shared) && len(keyed.Gateway.Keys) == 0 { // other accounts of this machine could connect
		s.localKey = access.NewKey()
	}
	// The user of a program's session is the person who talks to that program.
	if s.trusting = cfg.Knowledge.TrustUser == nil && !o.child && !o.shared && a.servesOnePerson(&cfg, in.Addr()); s.trusting {
		cfg.Knowledge.TrustUserUnlessSet()
	}
	l, err := a.Layer(ctx, p, func(lo *middleware.Options) {
		lo.Config, lo.Strict, lo.Foreground, lo.Watch, lo.Log, lo.Progress = &cfg, false, false, true, log, nil
		lo.OnReceipt, lo.OnEvent = s.receipt, hook.Unpack
	})
	if err != nil {
		return errors.Join(err, in.Close(), s.tracer.Close())
	}
	p.Done()
	g, err := s.gateway(l, o.child || o.shared)
	switch {
	case err != nil:
	case place != nil:
		err = place.announce(a.Out, "http://"+in.Addr().String(), s.localKey)
	default:
		err = a.announce(cfg, up, in.Addr(), o.child, s.localKey)
	}
	if err != nil {
		return errors.Join(err, in.Close(), l.Close(), s.tracer.Close())
	}
	now, stopNow := secondSignal(ctx)
	defer stopNow()
	reloads := a.reloads(ctx, hangups, reloading{serving: s, options: o, gateway: g, layer: l, from: from})
	var beside sync.WaitGroup
	if debug != nil {
		beside.Go(func() {
			if err := g.ServeDebug(ctx, debug); err != nil {
				log.Error("serve profiles", "cause", err)
			}
		})
	}
	err = g.Serve(ctx, now, in)
	reloads.Wait()
	beside.Wait()
	err = errors.Join(err, s.Close(), l.Close(), s.tracer.Close())
	log.Info("stopped", "harvested", l.Operator().Counts().Harvested)
	return err
}

// serveLog returns the log of requests and of the layer, on standard error.
func (a *commands) serveLog(o serveOptions) (*slog.Logger, error) {
	ho := &slog.HandlerOptions{Level: slog.LevelInfo}
	switch {
	case o.debug:
		ho.Level = slog.LevelDebug
	case a.Quiet:
		ho.Level = slog.LevelWarn
	}
	switch o.log {
	case "text":
		return slog.New(slog.NewTextHandler(a.Err, ho)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.Err, ho)), nil
	}
	return nil, cli.Usagef("--log: %q is neither text nor json", o.log)
}

// serveUpstream returns the base URL of the upstream, or "" for none. It rejects the
// gateway's own address, which would cause an endless loop.
func serveUpstream(flag string, cfg config.Config, at net.Addr) (string, error) {
	from, base := "--upstream", flag
	if base == "" {
		from, base = "upstream.base_url", cfg.Upstream.BaseURL
	}
	if base == "" {
		// Clients set this variable to the gateway's address. If it has that value
		// already, it does not name an upstream.
		if base = os.Getenv("OPENAI_BASE_URL"); base == "" || isOwnAddress(base, at) {
			base = openAI
		}
		return base, nil
	}
	switch {
	case base == noUpstream:
		return "", nil
	case isOwnAddress(base, at):
		return "", &ken.Error{Code: ken.CodeInvalid, Field: from, Msg: base + " is this gateway itself", Try: "Give the address of the API that is to answer."}
	}
	return base, nil
}

// isOwnAddress reports whether a base URL leads to the address that the gateway listens on.
func isOwnAddress(base string, at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	u, err := url.Parse(base)
	if !ok || err != nil {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if port != fmt.Sprint(tcp.Port) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.Equal(tcp.IP))
}

// announce prints the address, and the settings for clients.
func (a *commands) announce(cfg config.Config, up string, at net.Addr, child bool, key string) error {
	host := at.String()
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = fmt.Sprint("localhost:", tcp.Port) // how clients on this machine call it
	}
	base := "http://" + host
	if cfg.Gateway.TLSCert != "" {
		base = "https://" + host
	}
	if at.Network() == "unix" {
		path := strings.TrimPrefix(cfg.Gateway.Listen, "unix:")
		fmt.Fprintf(a.Err, "ken: serving on the socket %s, in front of %s\n", path, cmp.Or(up, "nothing"))
		if a.JSON {
			return a.PrintJSON(map[string]string{"socket": path, "upstream": up})
		}
		return nil
	}
	told := map[string]string{"url": base, "upstream": up}
	if cfg.Gateway.Console {
		told["console"] = base + console.Prefix
	}
	if child {
		if key != "" {
			told["key"] = key
		}
		return a.PrintJSON(told)
	}
	fmt.Fprintf(a.Err, "ken: serving %s, in front of %s\n", base, cmp.Or(up, "nothing"))
	if told["console"] != "" {
		fmt.Fprintf(a.Err, "ken: what it knows, and what waits for you: %s\n", told["console"])
	}
	return a.Show(told, func() {
		if !a.Quiet {
			fmt.Fprintf(a.Out, "OPENAI_BASE_URL=%s/v1\nANTHROPIC_BASE_URL=%s\n", base, base)
		}
	})
}

// secondSignal returns a context that ends with the first signal after the one that
// ended ctx. A third signal ends the process, as is the default.
func secondSignal(ctx context.Context) (now context.Context, stop context.CancelFunc) {
	now, stop = context.WithCancel(context.WithoutCancel(ctx))
	again := make(chan os.Signal, 1)
	go func() {
		select {
		case <-ctx.Done():
		case <-now.Done():
			return
		}
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		select {
		case <-again:
			stop()
		case <-now.Done():
		}
		signal.Stop(again)
	}()
	return now, stop
}

func (a *commands) serveKeyCommand() *cobra.Command {
	var project string
	var rights []string
	cmd := &cobra.Command{
		Use:   "key NAME",
		Short: "Make a key for the gateway",
		Long: "Make a key, and print it once, with the lines that let it in. Put those under gateway.keys: they have the key's hash, from " +
			"which nobody can make the key. The owner whose knowledge it opens is --owner.\n\n" +
			"Rights are chat (model calls), read, write, and operate (forget, approve, export, and all else that is for a person). Without " +
			"--right a key has the first three.",
		Example: "  ken serve key ana --owner ana\n  ken serve key dashboard --right read --right operate",
		Args:    cli.ExactArgs("a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.serveKey(config.GatewayKey{Name: args[0], Owner: a.Owner, Project: project, Rights: rights})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "the `PROJECT` that its turns belong to")
	cmd.Flags().StringSliceVar(&rights, "right", nil, "a `RIGHT`; may be given more than once")
	return cmd
}

func (a *commands) serveKey(k config.GatewayKey) error {
	key := access.NewKey()
	k.Hash = access.HashKey(key).String()
	c := config.Default()
	c.Gateway.Keys = []config.GatewayKey{k}
	if err := c.Validate(); err != nil {
		return cli.UsageError(err)
	}
	line, err := c.Get("gateway.keys")
	if err != nil {
		return err
	}
	line = strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
	return a.Show(map[string]string{"key": key, "name": k.Name, "hash": k.Hash, "entry": line}, func() {
		fmt.Fprintf(a.Out, "%s\n\ngateway:\n  keys:\n    - %s\n", key, line)
		fmt.Fprintln(a.Err, "ken: the key is shown this once; give it to the client, and put the lines below it into the configuration")
	})
}
