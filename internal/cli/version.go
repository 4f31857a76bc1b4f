package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/kenlayer/ken/internal/store/bolt"
)

// Build describes how this program was built.
type Build struct {
	Version  string `json:"version"`            // of the module; (devel) when built from a checkout
	Revision string `json:"revision,omitempty"` // the commit
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Layout   int    `json:"layout"` // layout version of the store's file that this program writes
}

// ReadBuild reads the description from the program itself.
func ReadBuild() Build {
	v := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Layout: bolt.Layout}
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

// String returns the description in one line.
func (v Build) String() string {
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

// Version returns the version of this program.
func Version() string { return ReadBuild().Version }
