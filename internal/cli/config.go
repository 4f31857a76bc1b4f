package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/trust"
)

// manyFiles is the number of files above which Ken asks before it reads a folder that is
// no project.
const manyFiles = 2000

// tooManyFiles returns the reason why Ken must ask before it reads the folder's files, or
// nil. A folder that is not a project may hold all files of a user.
func tooManyFiles(r *config.Resolved) *ken.Error {
	if _, err := os.Lstat(filepath.Join(r.Root, ".ken", "config.yaml")); err == nil {
		return nil // ken init or a repository marks it as a project
	}
	const try = "Go to a project's folder, or run ken init here to make this one."
	if trust.IsHome(r.Root) {
		return &ken.Error{Code: ken.CodeRefused, Msg: r.Root + " is a home folder, or contains one: Ken does not read its files without a project", Try: try}
	}
	if repository.IsProject(r.Root) || countFiles(r.Root) <= manyFiles {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("%s is no project, and has more than %d files", r.Root, manyFiles), Try: try}
}

// ConfirmReading returns an error unless the folder's files may be read. If it is not
// certain, it asks on a terminal. It refuses a home folder without asking.
func (a *App) ConfirmReading(ctx context.Context) error {
	r, err := a.Resolve()
	if err != nil || a.readable || !r.Config.Repository.Index && !r.Config.Middleware.Graph {
		return err
	}
	wide := tooManyFiles(r)
	if wide != nil && (trust.IsHome(r.Root) || !IsTerminal(a.In)) {
		return wide
	}
	if wide != nil {
		fmt.Fprintf(a.Err, "%s.\n", Cell(wide.Msg))
		if err := a.Confirm(ctx, "Read them all?", "Nothing was read."); err != nil {
			return err
		}
	}
	a.readable = true
	return nil
}

// SkipFiles is ConfirmReading for servers, which can't ask. Where ConfirmReading would
// ask or refuse, it turns off reading the folder's files, moves the state elsewhere, and
// reports that to say.
func SkipFiles(r *config.Resolved, say func(string)) error {
	wide := tooManyFiles(r)
	if wide == nil {
		return nil
	}
	say(wide.Msg + ", so its files are not read. " + wide.Try)
	r.Config.Repository.Index, r.Config.Middleware.Graph = false, false
	return r.Elsewhere()
}

// countFiles counts the files below a folder. It stops once they are too many.
func countFiles(root string) int {
	n, seen := 0, 0
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // unreadable entries are not counted
		seen++
		switch {
		case n > manyFiles || seen > 20*manyFiles:
			n = max(n, manyFiles+1)
			return fs.SkipAll
		case err != nil:
			return nil
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Type().IsRegular():
			n++
		}
		return nil
	})
	return n
}

// Configuration returns the project's configuration. It warns once about settings that are
// ignored because the file is not trusted.
func (a *App) Configuration() (*config.Resolved, error) { return a.ConfigurationOr("") }

// ConfigurationOr is Configuration with a file that the user named instead of the
// project's. With "" it reads the project's.
func (a *App) ConfigurationOr(file string) (*config.Resolved, error) {
	r, err := a.resolveOr(file)
	if err == nil {
		a.WarnUntrusted(r)
	}
	return r, err
}

// Resolve reads the project's configuration and prints no warning.
func (a *App) Resolve() (*config.Resolved, error) { return a.resolveOr("") }

func (a *App) resolveOr(file string) (*config.Resolved, error) {
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	return config.Resolve(root, file)
}

// WarnUntrusted warns once, in one line, about settings that are ignored because the
// project's file is not trusted.
func (a *App) WarnUntrusted(r *config.Resolved) {
	if said := r.Notice(); said != "" && !a.Noticed {
		a.Noticed = true
		fmt.Fprintf(a.Err, "ken: %s\n", Cell(said))
	}
}

// LifecycleFile returns the path of a project's lifecycle policy.
func LifecycleFile(root string) string {
	return filepath.Join(root, filepath.FromSlash(memoryfile.Dir), lifecycle.FileName)
}

// UserConfigName returns the path of the user's own configuration, or a description if
// there is no such path.
func UserConfigName() string { return cmp.Or(trust.ConfigFile(), "the file that KEN_CONFIG names") }

// CheckGateway returns an error if the project's file sets gateway keys or a certificate and is not trusted:
// without the keys, anybody could use the gateway, and without the certificate, keys would be sent in plain text.
func CheckGateway(r *config.Resolved) error {
	without := map[string]string{
		"gateway.keys":     "without them everybody here could use the gateway",
		"gateway.tls_cert": "without it requests would not be encrypted",
	}
	for _, w := range r.Withheld {
		if why, ok := without[w.Key]; ok {
			return &ken.Error{Code: ken.CodeRefused, Field: w.Key, Msg: "set in " + r.File + ", which is not trusted; " + why,
				Try: "Run ken trust, or set " + w.Key + " in " + UserConfigName() + "."}
		}
	}
	return nil
}
