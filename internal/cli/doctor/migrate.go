package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/shared"
)

type movedOwner struct {
	Owner  string  `json:"owner"`
	State  string  `json:"state"` // waits, begun or done; "failed" with an error
	Bytes  int64   `json:"bytes"`
	Events uint64  `json:"events,omitempty"`
	Pause  float64 `json:"pause_ms,omitempty"`
	Error  string  `json:"error,omitempty"`
	Try    string  `json:"try,omitempty"`
}

func (a *commands) migrateCommand() *cobra.Command {
	var to string
	var dry, yes bool
	cmd := &cobra.Command{
		Use:   "migrate [--to URL|DIR]",
		Short: "Move owners to another engine, or to a folder, while they are in use",
		Long: "Move all owners, or the one of --owner, from the configured engine or folder to another one. An owner is copied while it is in use, then stopped, " +
			"and completed in the new place: a pause of some seconds at most. Nodes with the new engine as store.next follow automatically. Others then reject the owner " +
			"with its new place: change store.url, or knowledge.db_path for a folder, and restart Ken. If a move is interrupted, run the same command again; nothing is lost or done twice. " +
			"The data in the old place is kept; delete it when you no longer need it. A new engine is reached with the credentials and certificates of the configuration.",
		Example: "  ken migrate --to nats://a:4222,b:4222,c:4222\n  ken migrate --to postgres://db/ken --owner ada --dry-run\n  ken migrate --to /var/lib/ken",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := a.Progress()
			defer p.Done()
			owner := ""
			if cmd.Flags().Changed("owner") {
				owner = a.Owner
			}
			if to == "" {
				r, err := a.Configuration()
				if err != nil {
					return err
				}
				if to = r.Config.Store.Next; to == "" {
					return &ken.Error{Code: ken.CodeInvalid, Field: "to", Msg: "the target is missing", Try: "Give --to, or set store.next."}
				}
			}
			all, err := a.migrate(cmd.Context(), p, to, owner, dry, yes)
			p.Done()
			if err != nil && len(all) == 0 {
				return err
			}
			if a.JSON {
				return errors.Join(a.PrintJSON(map[string]any{"to": engines.Address(to), "dry_run": dry, "owners": all}), err)
			}
			for _, m := range all {
				switch {
				case m.Error != "":
					fmt.Fprintf(a.Out, "%s: %s\n", m.Owner, m.Error)
				case dry:
					fmt.Fprintf(a.Out, "%s: %s, %.1f MB\n", m.Owner, m.State, float64(m.Bytes)/1e6)
				case m.Pause > 0:
					fmt.Fprintf(a.Out, "%s: moved, %d events, %.1f MB, a pause of %.0f ms\n", m.Owner, m.Events, float64(m.Bytes)/1e6, m.Pause)
				default:
					fmt.Fprintf(a.Out, "%s: was there already\n", m.Owner)
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "the `URL` of an engine, as for store.url, or a folder, as for knowledge.db_path; default store.next")
	f.BoolVar(&dry, "dry-run", false, "check both places and print what would be done, without changes")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// migrate moves one owner, or all owners, including those that are created meanwhile.
func (a *commands) migrate(ctx context.Context, p *cli.Progress, to, owner string, dry, yes bool) (all []movedOwner, err error) {
	r, err := a.Configuration()
	if err != nil {
		return nil, err
	}
	cfg, root := r.Config, r.Root
	place, from, err := places(ctx, cfg, root, to)
	if err != nil {
		return nil, err
	}
	if place.Log != nil {
		defer place.Log.Close()
	}
	w, done, err := a.owners(ctx, cfg, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	known := map[string]bool{}
	for failed := 0; ; {
		owners := []string{owner}
		if owner == "" {
			if owners, err = w.List(ctx); err != nil {
				return all, err
			}
		}
		owners = slices.DeleteFunc(owners, func(o string) bool { return known[o] })
		if len(owners) == 0 {
			if failed > 0 {
				err = &ken.Error{Code: ken.CodeUnavailable, Field: "owner", Msg: fmt.Sprintf("%d of %d owners could not be moved", failed, len(all)), Try: "Fix the errors above, then run the command again: it continues."}
			}
			return all, err
		}
		slices.Sort(owners)
		if !dry && !yes {
			fmt.Fprintf(a.Err, "%d owners go from %s to %s\n", len(owners), from, place.Name)
			if err := a.Confirm(ctx, "Move them?", "Nothing was changed."); err != nil {
				return all, err
			}
			yes = true
		}
		if place.Log == nil && !dry {
			made := cfg
			made.Knowledge.DBPath = place.Dir
			if err := made.MakeState(root); err != nil {
				return all, err
			}
		}
		for i, o := range owners {
			if err := ctx.Err(); err != nil {
				return all, err
			}
			p.Update("owners", i, len(owners))
			known[o] = true
			got, err := w.Move(ctx, o, from, place, dry)
			m := movedOwner{Owner: o, State: got.State, Bytes: got.Bytes, Events: got.Events, Pause: float64(got.Pause) / float64(time.Millisecond)}
			if err != nil {
				failed++
				m.State, m.Error, m.Try = "failed", err.Error(), ken.Hint(err)
			}
			all = append(all, m)
		}
		p.Update("owners", len(owners), len(owners))
	}
}

// holderWait is how long migrate waits for the lease of a killed process. It may be long,
// because no request waits for the command.
const holderWait = 30 * time.Second

// owners opens the owners without a layer, because a layer would open one of them. Each node
// of the engine needs a folder of its own: another process may use the configured one.
func (a *commands) owners(ctx context.Context, cfg config.Config, root string) (w *shared.Owners, done func() error, err error) {
	o := shared.Options{Log: a.Logger(), Wait: holderWait}
	if cfg.Store.URL == "" {
		w = shared.NewOwners(cfg.State(root), 0, o)
		return w, w.Close, nil
	}
	log, err := engines.Open(ctx, cfg.Store)
	if err != nil {
		return nil, nil, err
	}
	n := shared.NodeOptions{Log: log, ID: uuid.NewString(), Listen: cfg.Store.Listen, Advertise: cfg.Store.Advertise, Version: cli.Version(), Logger: o.Log}
	if n.Server, n.Client, err = engines.TLS(cfg.Store); err == nil {
		o.Node, err = shared.StartNode(ctx, n)
	}
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	var dir string
	var remove func() error
	if err = cfg.MakeState(root); err == nil {
		dir, remove, err = alive.Folder(shared.WorkDir(cfg.State(root)))
	}
	if err != nil {
		return nil, nil, errors.Join(err, o.Node.Close())
	}
	w = shared.NewOwners(dir, 0, o)
	return w, func() error { return errors.Join(w.Close(), o.Node.Close(), remove()) }, nil
}

// places returns the place that --to names, and the name of the configured one.
func places(ctx context.Context, cfg config.Config, root, to string) (place shared.Place, from string, err error) {
	from = cfg.State(root)
	if cfg.Store.URL != "" {
		from = engines.Address(cfg.Store.URL)
	}
	invalid := func(msg, try string) (shared.Place, string, error) {
		return place, from, &ken.Error{Code: ken.CodeInvalid, Field: "to", Msg: msg, Try: try}
	}
	scheme, _, _ := strings.Cut(to, ":")
	if !strings.Contains(to, "://") && !slices.Contains([]string{"nats", "tls", "postgres", "postgresql"}, scheme) {
		if cfg.Store.URL == "" {
			return invalid("the owners are in a folder already", "Use ken backup and ken restore to bring them into another folder.")
		}
		dir, err := filepath.Abs(to)
		return shared.Place{Name: dir, Dir: dir}, from, err
	}
	c := cfg
	c.Store.URL = to
	if err := c.Validate(); err != nil {
		return place, from, err
	}
	place.Name = engines.Address(to)
	if place.Name == from {
		return invalid("the owners are there already", "Name another engine, or a folder.")
	}
	place.Log, err = engines.Open(ctx, c.Store)
	return place, from, err
}
