package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// sessionView is a session with the claims that came of it, as they are now.
type sessionView struct {
	session.Info
	Checkpoint *session.Checkpoint `json:"checkpoint,omitempty"` // while its messages are there
	Claims     []claimView         `json:"claims"`
}

func (a *app) showSession(ctx context.Context, id string) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		j := l.Journal(a.owner)
		info, err := j.Find(ctx, id)
		if err != nil {
			return err
		}
		v := sessionView{Info: info}
		if cp, ok, err := j.Checkpoint(ctx, info.ID); err != nil {
			return err
		} else if ok {
			v.Checkpoint = &cp
		}
		if v.Claims, err = l.CameOf(ctx, s, &info); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printSession(&v)
		return nil
	})
}

func (a *app) printSession(v *sessionView) {
	line := func(name, text string) {
		if text = cell(text); text != "" {
			fmt.Fprintf(a.out, "%-10s  %s\n", name, text)
		}
	}
	line("session", v.ID)
	line("state", strings.TrimSuffix(string(v.State)+", "+string(v.Reason), ", "))
	line("part of", v.Parent)
	line("agent", v.Agent)
	line("messages", fmt.Sprintf("%d, from %s to %s UTC", v.Messages, v.Started.UTC().Format(minute), v.Active.UTC().Format(minute)))
	if cp := v.Checkpoint; cp != nil {
		line("goal", cp.Goal)
		line("files", strings.Join(cp.Files, ", "))
		line("open", strings.Join(cp.Open, " · "))
		line("last step", cp.LastStep)
	}
	line("came of it", cameOfIt(&v.Info))
	if len(v.Claims) == 0 {
		return
	}
	fmt.Fprintln(a.out)
	rows := make([][]string, len(v.Claims))
	for i := range v.Claims {
		c := &v.Claims[i]
		rows[i] = []string{a.shortID(c.ID), string(c.Kind), string(c.Status), headline(&c.Claim)}
	}
	a.printTable([]string{"ID", "KIND", "STATUS", "TEXT"}, rows)
}
