package trust

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken/internal/durable"
)

// Consent is a user's consent to what a project's configuration would do.
type Consent struct {
	Root string    `json:"root"` // the project's folder, a real path
	File string    `json:"file"` // the configuration that was shown
	Hash string    `json:"hash"` // hash of everything that the consent covers
	At   time.Time `json:"at"`
}

func consentFile(root string) (string, error) {
	dir, err := folder(root)
	return filepath.Join(dir, "trust", key(root)+".json"), err
}

// Given reports whether the user consented to the configuration with this hash in the
// project in root. A consent that can't be read does not count.
func Given(root, hash string) bool {
	path, err := consentFile(root)
	if err != nil {
		return false
	}
	c, err := readJSON[Consent](path)
	return err == nil && c.Root == Real(root) && c.Hash == hash
}

// readJSON reads a regular file of at most 64 KiB.
func readJSON[T any](path string) (v T, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return v, err
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return v, fs.ErrInvalid
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

// Give records the user's consent. It replaces an earlier one for the same project.
func Give(root, file, hash string, now time.Time) error {
	path, err := consentFile(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return noFolder(err)
	}
	b, err := json.MarshalIndent(Consent{Root: Real(root), File: file, Hash: hash, At: now.UTC()}, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(b, '\n'), 0o600)
}

// Revoke removes the consent to a project's configuration, and reports whether there was
// one.
func Revoke(root string) (bool, error) {
	path, err := consentFile(root)
	if err != nil {
		return false, err
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List returns every consent of this user, by project. root is the current project, whose
// own folder is never taken for the user's state folder.
func List(root string) ([]Consent, error) {
	dir, err := folder(root)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "trust", "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Consent
	for _, p := range paths {
		if c, err := readJSON[Consent](p); err == nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Consent) int { return cmp.Compare(a.Root, b.Root) })
	return out, nil
}
