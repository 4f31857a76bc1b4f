package connect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/configfile"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/trust"
)

// record stores what ken connect has done to an agent, so that ken disconnect can undo it. It
// is stored in the user's data folder, beside the backups.
type record struct {
	Agent string         `json:"agent"`
	By    string         `json:"by"`
	At    time.Time      `json:"at"`
	Files []recordedFile `json:"files"`
}

type recordedFile struct {
	Path   string            `json:"path"`
	Backup string            `json:"backup,omitempty"` // name of the copy made before, in the record's folder; "" if the file did not exist
	After  string            `json:"after"`            // SHA-256 of the written text
	Whole  bool              `json:"whole,omitempty"`  // the file belongs to Ken
	Undo   []configfile.Undo `json:"undo,omitempty"`

	// Folders lists the folders created for the file, innermost first.
	Folders []string `json:"folders,omitempty"`
}

const recordName = "connected.json"

// recordFolder returns the folder of an agent's record and backups.
func recordFolder(agent string) (string, error) {
	dir := trust.DataFolder()
	if dir == "" {
		return "", &ken.Error{Code: ken.CodeUnavailable, Msg: "there is no home folder to keep a backup in", Try: "Set HOME or XDG_DATA_HOME."}
	}
	return filepath.Join(dir, "connect", agent), nil
}

// readRecord returns the record of an agent, or nil if it is not connected.
func readRecord(agent string) (*record, error) {
	dir, err := recordFolder(agent)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, recordName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Field: path, Msg: "can't be read", Err: err, Try: "Remove it, and take ken out of the agent's configuration by hand."}
	}
	return &r, nil
}

// write stores the record and the previous text of each file. The files of an earlier record
// stay until the new one is written.
func (r *record) write(texts [][]byte) error {
	dir, err := recordFolder(r.Agent)
	if err != nil {
		return err
	}
	var before []os.DirEntry
	var backups string
	if err = os.MkdirAll(dir, 0o700); err == nil {
		before, err = os.ReadDir(dir)
	}
	if err == nil {
		backups, err = os.MkdirTemp(dir, "backup-")
	}
	if err != nil {
		return fmt.Errorf("keep a backup: %w", err)
	}
	if err := r.writeIn(dir, backups, texts); err != nil {
		return errors.Join(err, os.RemoveAll(backups))
	}
	for _, e := range before {
		if e.Name() != recordName {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // a leftover file is harmless: no record names it
		}
	}
	return nil
}

func (r *record) writeIn(dir, backups string, texts [][]byte) error {
	for i, text := range texts {
		if text == nil {
			continue
		}
		r.Files[i].Backup = filepath.Join(filepath.Base(backups), strconv.Itoa(i)+"-"+filepath.Base(r.Files[i].Path))
		if err := writeFile(filepath.Join(dir, r.Files[i].Backup), text, 0o600); err != nil {
			return fmt.Errorf("keep a backup: %w", err)
		}
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, recordName), append(b, '\n'), 0o600)
}

func (r *record) remove() error {
	dir, err := recordFolder(r.Agent)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// without returns a file's text without Ken's settings; nil means no file. Unless the file was
// changed since, that is exactly the text before ken connect.
func (r *record) without(f *recordedFile, text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	if sum(text) == f.After {
		if f.Backup == "" {
			return nil, nil
		}
		dir, err := recordFolder(r.Agent)
		if err != nil {
			return nil, err
		}
		if before, err := os.ReadFile(filepath.Join(dir, f.Backup)); err == nil {
			return before, nil
		}
	}
	if f.Whole {
		return nil, nil
	}
	return configfile.Unset(f.Path, text, f.Undo)
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// readFile returns a file's text, or nil if the file does not exist.
func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: path, Msg: "can't be read", Err: err, Try: "Check the file's permissions."}
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// checkLink returns an error for a link whose target does not exist, because writing would
// replace the link.
func checkLink(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return nil //nolint:nilerr // not a link
	}
	if _, err := os.Stat(path); err != nil {
		return &ken.Error{Code: ken.CodeRefused, Field: path, Msg: "is a link to " + to + ", which is not there", Err: err, Try: "Make that file, or remove the link."}
	}
	return nil
}

// writeFile replaces a file atomically: readers see the old text or the new one. A link stays
// a link, and a file keeps its permissions.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	if err := checkLink(path); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := durable.WriteFile(path, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
