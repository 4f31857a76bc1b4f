package embed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/embed/install"
)

func (a *commands) embedInstallCommand() *cobra.Command {
	var mirror, from string
	cmd := &cobra.Command{
		Use:   "install [NAME]",
		Short: "Install an embedder for all your projects",
		Long: "Download an embedder into your data folder, $XDG_DATA_HOME/ken/embedders or the like of your system. Each file is " +
			"compared with a SHA-256 that is part of Ken, wherever it comes from. A download that was interrupted goes on with the same " +
			"command. Without NAME, the embedders that can be installed are listed.\n\n" +
			"To use it, set knowledge.embed_path to its name. While the records of a project get their new vectors, the old ones are " +
			"searched as well: see ken embed status.\n\n" +
			"Without network, copy the model's folder from another machine and name it with --from. The environment variable " +
			"HF_ENDPOINT names a mirror, too.",
		Example: `  ken embed install
  ken embed install all-MiniLM-L6-v2
  ken embed install all-MiniLM-L6-v2 --mirror https://mirror.example.org
  ken embed install all-MiniLM-L6-v2 --from ~/models/all-MiniLM-L6-v2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := install.Folder()
			if dir == "" {
				return &ken.Error{Code: ken.CodeUnavailable, Msg: "there is no home folder to install into", Try: "Set XDG_DATA_HOME to a folder that is kept."}
			}
			if len(args) == 0 {
				if mirror != "" || from != "" {
					return cli.Usagef("install: NAME is missing")
				}
				return a.listInstallable(dir)
			}
			if mirror != "" && from != "" {
				return cli.Usagef("--mirror and --from: give one of them")
			}
			m, err := install.Find(args[0])
			if err != nil {
				return err
			}
			return a.embedInstall(cmd.Context(), m, install.Options{Dir: dir, Hub: cmp.Or(mirror, os.Getenv("HF_ENDPOINT")), From: from})
		},
	}
	for _, m := range install.Models() {
		cmd.ValidArgs = append(cmd.ValidArgs, m.Name+"\t"+m.About)
	}
	f := cmd.Flags()
	f.StringVar(&mirror, "mirror", "", "download from this `ADDRESS` instead of "+install.DefaultHub+"; default is HF_ENDPOINT")
	f.StringVar(&from, "from", "", "copy the files of this `FOLDER` instead of downloading them")
	return cmd
}

type installable struct {
	Name      string `json:"name"`
	Bytes     int64  `json:"bytes"`
	Licence   string `json:"licence"`
	About     string `json:"about"`
	From      string `json:"from"`
	Path      string `json:"path"`
	Installed bool   `json:"installed"`
}

func (a *commands) listInstallable(dir string) error {
	list := []installable{}
	for _, m := range install.Models() {
		l := installable{Name: m.Name, Bytes: m.Bytes(), Licence: m.Licence, About: m.About, From: install.DefaultHub + "/" + m.Repository}
		l.Path, l.Installed = m.Path(dir)
		list = append(list, l)
	}
	return a.Show(list, func() {
		for _, l := range list {
			state := "not installed"
			if l.Installed {
				state = "installed in " + l.Path
			}
			fmt.Fprintf(a.Out, "%s  %s\n  %s; %s; %s\n", l.Name, l.About, megabytes(l.Bytes), l.Licence, state)
		}
	})
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

func (a *commands) embedInstall(ctx context.Context, m *install.Model, o install.Options) error {
	p := a.Progress()
	defer p.Done()
	if o.From != "" {
		var err error
		if o.From, err = filepath.Abs(o.From); err != nil {
			return err
		}
	}
	const shown = 1 << 20 // bytes
	o.Progress = func(done, total int64) {
		p.Update("download, in MiB", int((done+shown-1)/shown), int((total+shown-1)/shown))
	}
	start := time.Now()
	got, err := m.Install(ctx, o)
	if err != nil {
		return err
	}
	p.Done()
	return a.Show(got, func() {
		if got.Present {
			fmt.Fprintf(a.Out, "%s is installed already in %s\n", got.Model, got.Path)
		} else {
			fmt.Fprintf(a.Out, "installed %s (%s, hashes verified) in %s in %v\n", got.Model, megabytes(got.Bytes), got.Path, time.Since(start).Round(100*time.Millisecond))
		}
		fmt.Fprintf(a.Out, "To use it, set embed_path: %s below knowledge: in .ken/config.yaml, or for all projects in your own configuration.\n", got.Model)
	})
}
