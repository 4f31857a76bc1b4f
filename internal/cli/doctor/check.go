package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type checkFlags struct{ all, repair, yes, forgotten bool }

func (a *commands) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find damage in the store, and repair it",
		Long: "Check the store's pages, the log's hash chain, the checksum of every value, and every claim against the log. " +
			"Exit with 1 when anything is wrong.\n\n" +
			"--repair rebuilds the claims from the log in a new file and replaces the old one. If an event is damaged, it takes the claim from its row. " +
			"The damaged file is kept beside it as ken.db.damaged until something is forgotten. No other process may use the store meanwhile.\n\n" +
			"--forgotten searches for forgotten texts instead: in the claims, and in every byte that Ken stores, including free pages, by fingerprints " +
			"of five words in a row. It also finds texts that were written again since.",
		Example: "  ken check\n  ken check --repair\n  ken check --forgotten",
		Args:    cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.repair {
				if err := a.repairStores(cmd.Context(), f); err != nil {
					return err
				}
			}
			if f.forgotten {
				return a.checkForgotten(cmd.Context(), f)
			}
			return a.checkStores(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "check the stores of all owners")
	cmd.Flags().BoolVar(&f.forgotten, "forgotten", false, "search every byte of the files for forgotten texts instead")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "repair the damage from the log, then check")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --repair: do not ask")
	return cmd
}

// checkView is the result of a check, or the reason why the store can't be
// opened.
type checkView struct {
	store.CheckReport
	Error string `json:"error,omitempty"`
}

// checkStores checks the stores and prints the problems. It returns an error if
// there are any.
func (a *commands) checkStores(ctx context.Context, f checkFlags) error {
	if f.all {
		a.Owner = ""
	}
	p := a.Progress()
	defer p.Done()
	change, done, err := a.ReadOnly()
	if err != nil {
		return err
	}
	defer done()
	l, err := a.Layer(ctx, p, change, func(o *middleware.Options) { o.Strict = false })
	if err != nil {
		return err
	}
	owners, err := a.ownersToCheck(ctx, l, f.all)
	var views []checkView
	var failed error
	for _, owner := range owners {
		v := checkView{CheckReport: store.CheckReport{Owner: owner}}
		err := withOwner(ctx, l, owner, func(s store.Engine) (err error) {
			v.CheckReport, err = s.Check(ctx)
			return err
		})
		if err != nil {
			v.Error = err.Error()
			failed = cmp.Or(failed, fmt.Errorf("owner %s: %w", owner, err))
		} else if v.Found > 0 && failed == nil {
			failed = &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("the store of owner %s has %d problems", owner, v.Found),
				Try: "Run ken check --repair. It keeps the damaged file."}
		}
		views = append(views, v)
	}
	p.Done()
	err = errors.Join(err, l.Close())
	if err == nil {
		err = a.printChecks(views)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cmp.Or(err, failed)
}

// ownersToCheck returns the owner to check, or all that have a store in the folder or in the engine.
func (a *commands) ownersToCheck(ctx context.Context, l *middleware.Layer, all bool) ([]string, error) {
	if !all {
		return []string{cmp.Or(a.Owner, l.Config().Knowledge.Owner)}, nil
	}
	if l.Config().Store.URL == "" {
		return cli.OwnersIn(stateOf(l))
	}
	owners, err := l.Operator().Owners(ctx)
	here, _ := cli.OwnersIn(stateOf(l)) // there may be no folder yet
	owners = append(owners, here...)
	slices.Sort(owners)
	return slices.Compact(owners), err
}

func withOwner(ctx context.Context, l *middleware.Layer, owner string, fn func(store.Engine) error) error {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

func (a *commands) printChecks(views []checkView) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"stores": views})
	}
	a.PrintTable([]string{"STORE", "EVENTS", "CLAIMS", "VALUES", "PROBLEMS", "OWNER"}, cli.Map(views, func(v *checkView) []string {
		state := "good"
		if v.Error != "" || v.Found > 0 {
			state = "bad"
		}
		return []string{state, fmt.Sprint(v.Events), fmt.Sprint(v.Claims), fmt.Sprint(v.Values), fmt.Sprint(v.Found), v.Owner}
	}))
	for _, v := range views {
		for _, p := range v.Problems {
			fmt.Fprintf(a.Out, "%s: %s: %s\n", cli.Cell(v.Owner), p.Part, cli.Cell(p.What))
		}
		if more := v.Found - len(v.Problems); more > 0 {
			fmt.Fprintf(a.Out, "%s: and %d more\n", cli.Cell(v.Owner), more)
		}
	}
	return nil
}

func (a *commands) repairStores(ctx context.Context, f checkFlags) error {
	r, err := a.Configuration()
	if err != nil {
		return err
	}
	state := r.Config.State(r.Root)
	owners := []string{cmp.Or(a.Owner, r.Config.Knowledge.Owner)}
	if f.all {
		if owners, err = cli.OwnersIn(state); err != nil {
			return err
		}
	}
	if !f.yes {
		for _, owner := range owners {
			fmt.Fprintf(a.Err, "To be rebuilt from its log: %s\n", filepath.Join(state, bolt.FolderName(owner)))
		}
		if err := a.Confirm(ctx, "Repair?", "Nothing was changed."); err != nil {
			return err
		}
	}
	p := a.Progress()
	defer p.Done()
	for _, owner := range owners {
		dir := filepath.Join(state, bolt.FolderName(owner))
		if _, err := os.Stat(dir); err != nil {
			return &ken.Error{Code: ken.CodeNotFound, Field: "owner", Msg: "owner " + owner + " has no store", Err: err, Try: "Check --owner and --dir."}
		}
		report, err := bolt.Repair(ctx, dir, bolt.Options{Owner: owner, Progress: p.Update})
		if err != nil {
			return fmt.Errorf("repair the store of owner %s: %w", owner, err)
		}
		p.Done()
		fmt.Fprintf(a.Err, "ken: %s: %s\n", owner, &report)
		for _, id := range report.Missing {
			fmt.Fprintf(a.Err, "ken: lost: %s\n", id)
		}
		if report.Kept != "" {
			fmt.Fprintf(a.Err, "ken: the damaged file is kept as %s\n", report.Kept)
		}
	}
	return nil
}

type forgottenCheck struct {
	Owner  string          `json:"owner"`
	Checks []inspect.Check `json:"checks"`
}

// checkForgotten searches the project for forgotten texts, and returns an error
// if it finds one.
func (a *commands) checkForgotten(ctx context.Context, f checkFlags) error {
	if f.all {
		a.Owner = ""
	}
	p := a.Progress()
	defer p.Done()
	change, done, err := a.ReadOnly()
	if err != nil {
		return err
	}
	defer done()
	l, err := a.Layer(ctx, p, change)
	if err != nil {
		return err
	}
	owners, err := a.ownersToCheck(ctx, l, f.all)
	var out []forgottenCheck
	var rows [][]string
	var failed error
	for _, owner := range owners {
		if err != nil {
			break
		}
		var checks []inspect.Check
		checks, err = l.Operator().CheckAllForgotten(ctx, owner)
		out = append(out, forgottenCheck{owner, checks})
		for _, c := range checks {
			state := "clean"
			if !c.Clean {
				state = "FOUND"
				failed = cmp.Or(failed, error(&ken.Error{Code: ken.CodeInternal, Msg: "a forgotten text is still stored, or stored again",
					Try: "Look at the places above: forget the claim again, or edit your own file."}))
			}
			rows = append(rows, []string{state, owner, c.Name, cmp.Or(c.Detail, c.Where)})
		}
	}
	p.Done()
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	if a.JSON {
		return errors.Join(a.PrintJSON(map[string]any{"stores": out}), failed)
	}
	a.PrintTable([]string{"FORGOTTEN", "OWNER", "PLACE", "FOUND"}, rows)
	return failed
}

func (a *commands) verifyLogCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "verify-log",
		Short: "Check that nobody changed the log",
		Example: `  ken verify-log
  ken verify-log --all`,
		Long: "Compute the log's hash chain again, from the first event to the last, and print the hash of the last one. " +
			"Store that hash elsewhere to prove later that no events were removed from the end. ken check does this and more.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				owners := []string{s.Owner()}
				if all {
					var err error
					if owners, err = cli.OwnersIn(filepath.Dir(s.Dir())); err != nil {
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

// logView is a log's report with its error, if there is one.
type logView struct {
	store.LogReport
	Error string `json:"error,omitempty"`
}

// verifyLogs checks the logs of all owners, then returns the first error.
func (a *commands) verifyLogs(ctx context.Context, l *middleware.Layer, owners []string) error {
	var failed error
	views := make([]logView, 0, len(owners))
	rows := make([][]string, 0, len(owners))
	for _, owner := range owners {
		v := logView{LogReport: store.LogReport{Owner: owner}}
		err := withOwner(ctx, l, owner, func(s store.Engine) (err error) {
			v.LogReport, err = s.VerifyLog(ctx)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state := "good"
		if err != nil {
			state, v.Error = "bad", err.Error()
			failed = cmp.Or(failed, fmt.Errorf("owner %s: %w", owner, err))
		}
		views = append(views, v)
		rows = append(rows, []string{state, fmt.Sprint(v.Events), fmt.Sprint(v.Erased), v.Head, v.Owner})
	}
	if a.JSON {
		return errors.Join(a.PrintJSON(map[string]any{"logs": views}), failed)
	}
	a.PrintTable([]string{"LOG", "EVENTS", "ERASED", "HEAD", "OWNER"}, rows)
	return failed
}
