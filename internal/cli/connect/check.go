package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
)

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
