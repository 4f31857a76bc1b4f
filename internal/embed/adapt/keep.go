package adapt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Names of the files in the state folder.
const (
	TableFile  = "embedder.ken"
	ReportFile = "embedder.json"

	checkpointFile = "embedder.part" // left by a tuning that was stopped
)

// Checkpoint returns the path in the state folder for a tuning's checkpoint (see
// train.Options). It creates the folder, and returns an error if the folder can't be
// written, so that this is known before minutes of work.
func Checkpoint(stateDir string) (string, error) {
	err := os.MkdirAll(stateDir, 0o755)
	if err == nil {
		err = durable.WriteFile(filepath.Join(stateDir, checkpointFile+".probe"), nil, 0o600)
	}
	if err == nil {
		err = remove(filepath.Join(stateDir, checkpointFile+".probe"))
	}
	if err != nil {
		return "", unwritable(stateDir, err)
	}
	return filepath.Join(stateDir, checkpointFile), nil
}

func unwritable(stateDir string, err error) error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "keep the adapted embedder", Err: err,
		Try: "Check the permissions of " + stateDir + " and the space left on its disk."}
}

// kept is the content of the report's file.
type kept struct {
	Size int64 `json:"size"` // of the table's file, in bytes
	Report
}

// Find returns the path of the adapted table in a state folder. It returns false if
// there is none that is complete and was tuned from the named base.
func Find(stateDir, baseModelName string) (path string, ok bool) {
	k, err := load(stateDir)
	if err != nil || k.Base != baseModelName || k.Model == "" {
		return "", false
	}
	path = filepath.Join(stateDir, TableFile)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != k.Size {
		return "", false
	}
	return path, true
}

// Load reads the report of the stored table. The error wraps fs.ErrNotExist when there
// is none.
func Load(stateDir string) (Report, error) {
	k, err := load(stateDir)
	return k.Report, err
}

func load(stateDir string) (kept, error) {
	var k kept
	b, err := os.ReadFile(filepath.Join(stateDir, ReportFile))
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	if err != nil {
		return kept{}, fmt.Errorf("read the adapted embedder's report: %w", err)
	}
	return k, nil
}

// Save stores a table and its report in the state folder, which it creates if needed,
// and replaces earlier ones. Each file is replaced atomically. Save does not check
// whether the table wins.
func Save(stateDir string, m *table.Model, r Report) error {
	err := os.MkdirAll(stateDir, 0o755)
	if err == nil {
		err = remove(filepath.Join(stateDir, ReportFile))
	}
	if err == nil {
		err = durable.Replace(filepath.Join(stateDir, TableFile), 0o644, func(w io.Writer) error {
			_, err := m.WriteTo(w)
			return err
		})
	}
	if err == nil {
		err = durable.Replace(filepath.Join(stateDir, ReportFile), 0o644, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(kept{Size: int64(m.Size()), Report: r})
		})
	}
	if err != nil {
		return unwritable(stateDir, err)
	}
	return nil
}

// Remove deletes the stored table and report, and reports whether there was anything.
func Remove(stateDir string) (bool, error) {
	was := false
	for _, name := range []string{ReportFile, TableFile} {
		path := filepath.Join(stateDir, name)
		if _, err := os.Lstat(path); err == nil {
			was = true
		}
		if err := remove(path); err != nil {
			return was, &ken.Error{Code: ken.CodeUnavailable, Msg: "remove the adapted embedder", Err: err,
				Try: "Check the permissions of " + stateDir + "."}
		}
	}
	return was, nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
