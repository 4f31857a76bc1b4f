package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) verifyLogCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "verify-log",
		Short: "Check that nobody changed the log",
		Long: "Compute the log's hash chain again, from the first event to the last, and print the hash of the last one. " +
			"Note that hash elsewhere to prove later that nothing was cut off. ken check does this and more.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				owners := []string{s.Owner()}
				if all {
					var err error
					if owners, err = ownersIn(filepath.Dir(s.Dir())); err != nil {
						return err
					}
				}
				return a.verifyLogs(cmd.Context(), l, owners)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "check the logs of all owners")
	return cmd
}

// logView is a report with what is wrong, if something is.
type logView struct {
	store.LogReport
	Error string `json:"error,omitempty"`
}

// verifyLogs checks every owner's log, and fails with the first fault after it
// has looked at all of them.
func (a *app) verifyLogs(ctx context.Context, l *middleware.Layer, owners []string) error {
	var failed error
	views := make([]logView, 0, len(owners))
	rows := make([][]string, 0, len(owners))
	for _, owner := range owners {
		v := logView{LogReport: store.LogReport{Owner: owner}}
		err := verifyLog(ctx, l, &v)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state := "good"
		if err != nil {
			state, v.Error = "bad", err.Error()
			if failed == nil {
				failed = fmt.Errorf("owner %s: %w", owner, err)
			}
		}
		views = append(views, v)
		rows = append(rows, []string{state, fmt.Sprint(v.Events), fmt.Sprint(v.Erased), v.Head, v.Owner})
	}
	if a.json {
		return errors.Join(a.printJSON(map[string]any{"logs": views}), failed)
	}
	a.printTable([]string{"LOG", "EVENTS", "ERASED", "HEAD", "OWNER"}, rows)
	return failed
}

func verifyLog(ctx context.Context, l *middleware.Layer, v *logView) error {
	s, release, err := l.Store(ctx, v.Owner)
	if err != nil {
		return err
	}
	defer release()
	v.LogReport, err = s.VerifyLog(ctx)
	return err
}

// ownersIn lists the owners whose stores lie in a state folder; see
// bolt.FolderName for how the folders are called.
func ownersIn(state string) ([]string, error) {
	entries, err := os.ReadDir(state)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	var owners []string
	for _, e := range entries {
		if owner, err := url.PathUnescape(e.Name()); err == nil && bolt.FolderName(owner) == e.Name() && e.IsDir() {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}
