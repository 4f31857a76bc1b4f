package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/trust"
)

type trustOptions struct{ yes, list, revoke bool }

func (a *commands) trustCommand() *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Trust a project's configuration and state",
		Long: "A project's files may come from strangers. Until you agree, its configuration can't choose addresses, environment variables, models, " +
			"commands, listeners or paths outside of its folder, nor relax what your own configuration restricts; and a state folder that was not " +
			"created here by you is not used. All other settings of the file apply.\n\n" +
			"This command shows what the project's files would do, and asks. Your consent applies to the current file: when it changes, Ken asks " +
			"again. It is stored in your own state folder. Settings for all projects belong in your own configuration, which needs no consent: " +
			"$XDG_CONFIG_HOME/ken/config.yaml, beneath the project's.\n\n" +
			"docs/trust.md says more.",
		Example: `  ken trust
  ken trust --yes
  ken trust --list
  ken trust --revoke`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.list && (o.revoke || o.yes), o.revoke && o.yes:
				return cli.Usagef("--list, --revoke and --yes exclude each other")
			case o.list:
				return a.listTrusted()
			case o.revoke:
				return a.revokeTrust()
			}
			return a.trust(cmd.Context(), o.yes)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "agree without being asked")
	f.BoolVar(&o.list, "list", false, "list the projects that you trust")
	f.BoolVar(&o.revoke, "revoke", false, "withdraw the consent")
	return cmd
}

// trustView lists the settings that need trust, and whether they are trusted.
type trustView struct {
	Root    string            `json:"root"`
	File    string            `json:"file,omitempty"`
	Asks    []config.Withheld `json:"asks"` // the file's settings that need consent
	State   string            `json:"state"`
	Foreign string            `json:"foreign_state,omitempty"` // why the state is not used
	Trusted bool              `json:"trusted"`
}

func viewTrust(r *config.Resolved) trustView {
	return trustView{Root: r.Root, File: r.File, Asks: append([]config.Withheld{}, r.Asks...), State: r.StateAt, Foreign: r.Foreign, Trusted: r.Trusted()}
}

func (a *commands) trust(ctx context.Context, yes bool) error {
	r, err := a.Resolve()
	if err != nil {
		return err
	}
	v := viewTrust(r)
	if v.Trusted {
		return a.printTrusted(v)
	}
	if !yes {
		if err := a.Show(v, func() { a.showTrust(v) }); err != nil {
			return err
		}
		if err := a.Confirm(ctx, "Trust this?", "Nothing was trusted."); err != nil {
			return err
		}
	}
	if len(r.Withheld) > 0 {
		if err := trust.Give(r.Root, r.File, r.Hash(), time.Now()); err != nil {
			return fmt.Errorf("keep the consent: %w", err)
		}
	}
	if v.Foreign != "" {
		meanwhile := r.Config.State(r.Root)
		if err := trust.Adopt(r.Root, r.StateAt); err != nil {
			return err
		}
		if _, err := os.Stat(meanwhile); err == nil && !a.JSON {
			fmt.Fprintf(a.Err, "ken: what was learned meanwhile is still in %s\n", meanwhile)
		}
	}
	v.Trusted, v.Foreign = true, ""
	return a.printTrusted(v)
}

func (a *commands) printTrusted(v trustView) error {
	return a.Show(v, func() { fmt.Fprintf(a.Out, "All settings of %s apply.\n", v.Root) })
}

func (a *commands) showTrust(v trustView) {
	if len(v.Asks) > 0 {
		fmt.Fprintf(a.Err, "%s says:\n", cli.Cell(v.File))
	}
	for _, w := range v.Asks {
		if lines := strings.Split(w.Value, "\n"); len(lines) == 1 {
			fmt.Fprintf(a.Err, "  %s: %s\n", w.Key, cli.Cell(w.Value))
		} else {
			fmt.Fprintf(a.Err, "  %s:\n", w.Key)
			for _, l := range lines {
				fmt.Fprintf(a.Err, "    - %s\n", cli.Cell(l))
			}
		}
		fmt.Fprintf(a.Err, "    It decides %s.\n", w.Why)
	}
	if v.Foreign == "" {
		return
	}
	fmt.Fprintf(a.Err, "The state in %s is not used, because %s.\n", cli.Cell(v.State), cli.Cell(v.Foreign))
	for _, l := range contents(v.State) {
		fmt.Fprintf(a.Err, "  %s\n", cli.Cell(l))
	}
	fmt.Fprintln(a.Err, "  Its claims would be shown to the model as what you know.")
}

// contents lists the entries of a state folder and the targets of its links.
func contents(dir string) (lines []string) {
	const most = 20
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries[:min(len(entries), most)] {
		path, line := filepath.Join(dir, e.Name()), e.Name()
		switch info, err := e.Info(); {
		case err != nil:
		case e.IsDir():
			line += "/"
		case info.Mode().IsRegular():
			line += fmt.Sprintf(", %d bytes", info.Size())
		default:
			line += " -> " + trust.Real(path)
		}
		lines = append(lines, line)
	}
	if n := len(entries) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

func (a *commands) listTrusted() error {
	root, err := a.Project()
	if err != nil {
		return err
	}
	all, err := trust.List(root)
	if err != nil {
		return err
	}
	return a.Show(map[string]any{"trusted": append([]trust.Consent{}, all...)}, func() {
		for _, c := range all {
			fmt.Fprintf(a.Out, "%s  %s  %s\n", c.At.UTC().Format(cli.TimeFormat), cli.Cell(c.Root), cli.Cell(c.File))
		}
	})
}

func (a *commands) revokeTrust() error {
	root, err := a.Project()
	if err != nil {
		return err
	}
	gone, err := trust.Revoke(root)
	if err != nil {
		return fmt.Errorf("withdraw the consent: %w", err)
	}
	r, err := a.Resolve()
	if err != nil {
		return err
	}
	disowned, err := trust.Disown(root, r.StateAt)
	if err != nil {
		return fmt.Errorf("take the mark off the state: %w", err)
	}
	did := map[[2]bool]string{{true, true}: "The configuration and the state are no longer trusted.", {true, false}: "The configuration is no longer trusted.",
		{false, true}: "The state is no longer trusted.", {false, false}: "Nothing of this project was trusted."}[[2]bool{gone, disowned}]
	return a.Show(map[string]bool{"configuration": gone, "state": disowned}, func() { fmt.Fprintln(a.Out, did) })
}

func examineTrust(r *config.Resolved) finding {
	f := finding{Check: "trust", State: stateWarn, Detail: r.Notice(), Try: "Run ken trust: it shows what the project's files would do, and asks.",
		Data: viewTrust(r)}
	switch {
	case f.Detail == "" && len(r.Asks) > 0:
		return passed("trust", "you agreed to the project's configuration")
	case f.Detail == "":
		return passed("trust", "nothing of the project needs your consent")
	}
	return f
}
