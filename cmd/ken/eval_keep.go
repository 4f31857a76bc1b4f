package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals"
)

// keptPaths is where --keep puts the report of each data set; nil without the flag. A
// sweep takes minutes, so what can't be kept is said before it begins.
func (a *app) keptPaths(name string, sets []string, o evals.Options) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	if err := o.Config.MakeState(o.Root); err != nil && !errors.Is(err, ken.ErrUnavailable) {
		return nil, err
	}
	paths := make([]string, len(sets))
	seen := map[string]string{}
	for i, set := range sets {
		whole := name
		if len(sets) > 1 {
			whole += "-" + evals.KeptName(strings.TrimSuffix(filepath.Base(set), filepath.Ext(set)))
		}
		path, err := evals.KeptPath(o.Config.State(o.Root), whole)
		if err != nil {
			return nil, usage{err}
		}
		if other, ok := seen[path]; ok {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--keep", Msg: fmt.Sprintf("%s and %s would be kept under the same name", other, set),
				Try: "Sweep them one by one."}
		}
		if seen[path] = set; free(path) != nil {
			return nil, free(path)
		}
		paths[i] = path
	}
	return paths, nil
}

// free refuses a path at which something is: two sweeps are worth comparing because
// neither replaced the other.
func free(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--keep", Msg: "look for " + path, Err: err, Try: "Check the folder and its permissions."}
	}
	return &ken.Error{Code: ken.CodeExists, Field: "--keep", Msg: path + " is there already", Try: "Choose another name, or remove the file."}
}

func (a *app) keepReport(path string, r *evals.Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--keep", Msg: "make the folder", Err: err, Try: "Check its permissions."}
	}
	if err := free(path); err != nil {
		return err
	}
	if err := writeFile(path, r.Write); err != nil {
		return err
	}
	if !a.quiet {
		fmt.Fprintf(a.err, "ken: kept as %s; the console of ken serve shows it under Health, Recall sweeps\n", path)
	}
	return nil
}
