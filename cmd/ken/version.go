package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/store/bolt"
)

// buildView is what is known of this program's build.
type buildView struct {
	Version  string `json:"version"`            // of the module; (devel) when built from a checkout
	Revision string `json:"revision,omitempty"` // the commit
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Layout   int    `json:"layout"` // of the store's file that this program writes
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: "Print the version of this program, the commit that it was built from, and the layout of the store that it writes. A store of a " +
			"later layout is refused by name.",
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v := readBuild()
			if a.json {
				return a.printJSON(v)
			}
			fmt.Fprintln(a.out, v)
			return nil
		},
	}
}

func readBuild() buildView {
	v := buildView{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Layout: bolt.Layout}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(b.Main.Version, v.Version)
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String says it in one line.
func (v buildView) String() string {
	s := "ken " + v.Version
	if v.Revision != "" {
		s += fmt.Sprintf(" (%.12s", v.Revision)
		if v.Time != "" {
			s += ", " + v.Time
		}
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return fmt.Sprintf("%s, %s, %s, store layout %d", s, v.Go, v.Platform, v.Layout)
}
