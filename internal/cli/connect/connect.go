// Package connect provides the commands that connect agents to Ken: ken connect
// and ken disconnect change an agent's configuration, and ken hook is what the
// agent runs.
//
// agents.go lists the agents. Package configfile edits their files.
package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.connectCommand(), c.disconnectCommand(), c.hookCommand()}
}

type options struct {
	by          string
	yes, dryRun bool
}

func (a *commands) connectCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "connect [AGENT]",
		Short: "Connect an agent to Ken, or list the agents",
		Long: "Change an agent's own configuration so that it works with Ken. It shows the change first and keeps a backup; ken disconnect undoes " +
			"it. Without AGENT, list the supported agents, and which are installed and connected here.\n\n" +
			"It uses the best way that the agent supports: hooks (the agent runs ken hook; it works with any login), mcp (the agent calls Ken's tools), " +
			"or url (the agent's requests go through ken serve, which must be running). --by selects another one.",
		Example: `  ken connect
  ken connect claude-code
  ken connect codex --by mcp --yes`,
		Args:              cli.MaxArgs("AGENT"),
		ValidArgsFunction: completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.list()
			}
			return a.connect(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "", "the `WAY`: hooks, mcp or url")
	cli.CompleteWords(cmd, "by", "hooks", "mcp", "url")
	addFlags(cmd, &o)
	return cmd
}

func (a *commands) disconnectCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "disconnect AGENT",
		Short: "Disconnect an agent from Ken",
		Long: "Undo the changes of ken connect. If nothing else has changed since, the agent's configuration is restored byte for " +
			"byte. Your own later changes stay.",
		Example:           "  ken disconnect claude-code",
		Args:              cli.ExactArgs("AGENT"),
		ValidArgsFunction: completeAgents,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.disconnect(cmd.Context(), args[0], o) },
	}
	addFlags(cmd, &o)
	return cmd
}

func addFlags(cmd *cobra.Command, o *options) {
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the change without making it")
}

func completeAgents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return names(), cobra.ShellCompDirectiveNoFileComp
}

func names() []string { return cli.Map(agents, func(g *agent) string { return g.name }) }

func agentNamed(name string) (*agent, error) {
	i := slices.IndexFunc(agents, func(g agent) bool { return g.name == name })
	if i < 0 {
		return nil, cli.Invalid("AGENT", fmt.Sprintf("unknown agent %q", name), "Use one of "+strings.Join(names(), ", ")+".")
	}
	return &agents[i], nil
}

// way returns the way with this name, or the preferred one for "".
func (g *agent) way(by string) (*way, error) {
	i := slices.IndexFunc(g.ways, func(w way) bool { return by == "" || w.by == by })
	if i < 0 {
		ways := cli.Map(g.ways, func(w *way) string { return w.by })
		return nil, cli.Invalid("--by", fmt.Sprintf("%s can't be connected by %q", g.title, by), "Use "+strings.Join(ways, " or ")+".")
	}
	return &g.ways[i], nil
}

// place finds the user's folders and the address of the gateway.
func (a *commands) place() (*place, error) {
	p, err := newPlace()
	if err != nil {
		return nil, err
	}
	r, err := a.Configuration()
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if r.Config.Gateway.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(r.Config.Gateway.Listen)
	if err != nil {
		return p, nil // a Unix socket has no URL
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	p.url = scheme + net.JoinHostPort(host, port)
	return p, nil
}

type connected struct {
	Agent   string   `json:"agent"`
	By      string   `json:"by"`
	Changed []string `json:"changed"` // changed files
	Check   string   `json:"check,omitempty"`
	Next    string   `json:"next,omitempty"` // what the user still has to do
}

func (a *commands) connect(ctx context.Context, name string, o options) error {
	g, err := agentNamed(name)
	if err != nil {
		return err
	}
	w, err := g.way(o.by)
	if err != nil {
		return err
	}
	p, err := a.place()
	if err != nil {
		return err
	}
	if w.by == byURL && p.url == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "gateway.listen", Msg: "is a socket, which agents can't use as a base URL", Try: "Give an address such as 127.0.0.1:8484."}
	}
	installed := g.installed(p) // checked before its folder is created
	pl, err := newPlan(name)
	if err != nil {
		return err
	}
	if err := pl.connect(w.files(p)); err != nil {
		return err
	}
	out := connected{Agent: name, By: w.by, Changed: paths(pl), Next: w.note}
	if done, err := a.show(ctx, pl, o, g.title+" is connected already, by "+w.by+"."); done && (err != nil || o.dryRun) {
		return err
	}
	if len(out.Changed) > 0 {
		if err := pl.apply(w.by, time.Now()); err != nil {
			return err
		}
		if !a.JSON {
			fmt.Fprintf(a.Err, "ken: %s is connected by %s; ken disconnect %s undoes it\n", g.title, w.by, name)
			if !installed {
				fmt.Fprintf(a.Err, "ken: %s is not found on this machine\n", g.title)
			}
		}
	}
	out.Check, err = a.check(ctx, g, w, p)
	if a.JSON {
		return errors.Join(a.PrintJSON(out), err)
	}
	if err == nil {
		fmt.Fprintf(a.Err, "ken: checked: %s\n", out.Check)
	}
	if w.note != "" {
		fmt.Fprintf(a.Err, "ken: %s\n", w.note)
	}
	return err
}

func paths(pl *plan) []string {
	return cli.Map(pl.changed(), func(c **change) string { return (*c).path })
}

// show prints what a plan changes, and asks for confirmation. done is true if there is
// nothing to do or the user declines. nothing is printed if the plan changes nothing.
func (a *commands) show(ctx context.Context, pl *plan, o options, nothing string) (done bool, err error) {
	changed := pl.changed()
	if len(changed) == 0 {
		if !a.JSON {
			fmt.Fprintf(a.Err, "ken: %s\n", nothing)
		}
		return true, nil
	}
	if !a.JSON {
		for _, c := range changed {
			printDiff(a.Out, c.path, c.oldText, c.newText)
		}
	}
	if o.dryRun {
		if a.JSON {
			err = a.PrintJSON(map[string]any{"agent": pl.agent, "would_change": paths(pl)})
		}
		return true, err
	}
	if !o.yes {
		if err := a.Confirm(ctx, "Make this change?", "Nothing was changed."); err != nil {
			return true, err
		}
	}
	return false, nil
}

func (a *commands) disconnect(ctx context.Context, name string, o options) error {
	g, err := agentNamed(name)
	if err != nil {
		return err
	}
	p, err := a.place()
	if err != nil {
		return err
	}
	pl, err := newPlan(name)
	if err != nil {
		return err
	}
	if pl.record == nil {
		for i := range g.ways {
			if err := pl.disconnect(g.ways[i].files(p)); err != nil {
				return err
			}
		}
	}
	changed := paths(pl)
	done, err := a.show(ctx, pl, o, g.title+" is not connected.")
	if err != nil || done && (o.dryRun || pl.record == nil) {
		if err == nil && a.JSON && !o.dryRun {
			err = a.PrintJSON(map[string]any{"agent": name, "changed": changed})
		}
		return err
	}
	if err := pl.apply("", time.Now()); err != nil {
		return err
	}
	return a.Show(map[string]any{"agent": name, "changed": changed}, func() {
		if !done {
			fmt.Fprintf(a.Err, "ken: %s is disconnected\n", g.title)
		}
	})
}

type listed struct {
	Agent     string   `json:"agent"`
	Title     string   `json:"title"`
	Installed bool     `json:"installed"`
	Connected string   `json:"connected,omitempty"` // the way in use; "" if not connected
	Ways      []string `json:"ways"`                // in order of preference
	Problem   string   `json:"problem,omitempty"`   // why Connected is unknown
}

func (a *commands) list() error {
	p, err := a.place()
	if err != nil {
		return err
	}
	out := make([]listed, len(agents))
	var rows [][]string
	for i := range agents {
		g := &agents[i]
		l := &out[i]
		*l = listed{Agent: g.name, Title: g.title, Installed: g.installed(p)}
		for j := range g.ways {
			w := &g.ways[j]
			l.Ways = append(l.Ways, w.by)
			switch ok, err := isConnected(w.files(p)); {
			case err != nil:
				l.Problem = err.Error()
			case ok && l.Connected == "":
				l.Connected = w.by
			}
		}
		if r, err := readRecord(g.name); l.Connected == "" && l.Problem == "" && (err != nil || r != nil) {
			l.Problem = "its configuration is not as ken connect would write it now; try ken connect " + g.name
		}
		installed := "no"
		if l.Installed {
			installed = "yes"
		}
		rows = append(rows, []string{l.Agent, installed, cmp.Or(l.Connected, "-"), strings.Join(l.Ways, ", "), l.Title})
	}
	return a.Show(map[string]any{"agents": out}, func() {
		a.PrintTable([]string{"AGENT", "INSTALLED", "CONNECTED", "WAYS", "NAME"}, rows)
		for i := range out {
			if out[i].Problem != "" {
				fmt.Fprintf(a.Err, "ken: %s: %s\n", out[i].Agent, cli.Cell(out[i].Problem))
			}
		}
	})
}

// checkDeadline is the longest time that a check of a connection takes.
const checkDeadline = 20 * time.Second

// sample is the event with which a hook is tested. It stores nothing.
const sample = `{"hook_event_name":"SessionStart","source":"compact","session_id":"ken-connect","cwd":%q}`

// check tests a connection as the agent will use it, and returns a short result.
func (a *commands) check(ctx context.Context, g *agent, w *way, p *place) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkDeadline)
	defer cancel()
	var checks []func() (string, error)
	if w.by == byHooks {
		checks = append(checks, func() (string, error) { return a.checkHook(ctx, g, p) })
	}
	if w.by == byURL {
		checks = append(checks, func() (string, error) { return checkURL(ctx, p.url) })
	}
	if w.server != nil {
		checks = append(checks, func() (string, error) { return a.checkServer(ctx, w.server(p)) })
	}
	said := make([]string, len(checks))
	for i, check := range checks {
		var err error
		if said[i], err = check(); err != nil {
			return "", err
		}
	}
	return strings.Join(said, "; "), nil
}

func (a *commands) checkHook(ctx context.Context, g *agent, p *place) (string, error) {
	root, err := a.Project()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", p.hook(g.name))
	if runtime.GOOS == "windows" {
		cmd = exec.CommandContext(ctx, p.ken, "hook", g.name)
	}
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = root, strings.NewReader(fmt.Sprintf(sample, root)), &out, &errs
	cmd.Env = append(os.Environ(), hooksVariable+"=check")
	start := time.Now()
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		return "", &ken.Error{Code: ken.CodeUnavailable, Msg: "the hook failed: " + cli.Cell(strings.TrimSpace(errs.String())), Err: err, Try: "Run ken doctor."}
	}
	return fmt.Sprintf("the hook answers in %d ms", time.Since(start).Milliseconds()), nil
}

func (a *commands) checkServer(ctx context.Context, command []string) (said string, err error) {
	root, err := a.Project()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = root
	client := mcp.NewClient(&mcp.Implementation{Name: "ken-connect", Version: cli.Version()}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return "", &ken.Error{Code: ken.CodeUnavailable, Msg: "the MCP server does not start", Err: err, Try: "Run ken mcp in a project, and see what it says."}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("list the tools of the MCP server: %w", err)
	}
	return "the MCP server answers with " + cli.Count(len(list.Tools), "tool"), nil
}

func checkURL(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	notRunning := func(err error) error {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "nothing serves " + base + ", so the agent can't reach its model", Err: err,
			Try: "Start it in the project: ken serve."}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", notRunning(nil)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", notRunning(fmt.Errorf("/healthz answers %s", resp.Status))
	}
	return "ken serve answers at " + base, nil
}
