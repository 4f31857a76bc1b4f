package consoletest

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/kenlayer/ken/evals"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

//go:embed testdata/sweep
var sweepData embed.FS

// Sweeps is where a project keeps the reports of recall sweeps, below its root: NAME.json.
const Sweeps = ".ken/state/sweeps"

// sweeps asks the questions of a small data set by words alone, and then by meaning as
// well, and keeps both reports.
func (f *furnisher) sweeps(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "furnish-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data, err := fs.Sub(sweepData, "testdata")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, data); err != nil {
		return err
	}
	for _, mode := range []evals.Mode{evals.ModeKeyword, evals.ModeHybrid} {
		set, err := dataset.Open(ctx, path.Join(dir, "sweep"), dataset.Options{})
		if err != nil {
			return err
		}
		report, err := evals.Sweep(ctx, evals.Options{Data: set, Modes: []evals.Mode{mode}, Seed: 1, Workers: 1, Set: []evals.Setting{{Key: "retrieval.deadline", Value: "30s"}}})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := report.Write(&b); err != nil {
			return err
		}
		if err := f.write(path.Join(Sweeps, string(mode)+".json"), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
