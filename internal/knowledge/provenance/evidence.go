package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
)

// Evidence is a file of the project in root as evidence: its path from there, with
// slashes, and the hash of its whole content by which Of sees that it has changed. name
// is relative to root, or absolute and within it; symbolic links are followed within the
// project only. Files up to 64 MiB are taken, as larger ones are not compared.
//
// Errors name no field, as each caller has another one: ErrNotFound for a file that is
// not there, ErrInvalid for one that is not of the project, is no regular file, is too
// large or can't be read.
func Evidence(root, name string) (ken.Evidence, error) {
	rel, err := within(root, name)
	if err != nil {
		return ken.Evidence{}, err
	}
	hash, err := hashFile(root, rel)
	if err != nil {
		return ken.Evidence{}, err
	}
	e := ken.FromFile(rel, "", "")
	e.ContentHash = hash
	return e, nil
}

// within is the path of a file from the project's folder. Both may be named by way of
// links.
func within(root, name string) (string, error) {
	if name == "" {
		return "", notEvidence("an empty name", "is not that of a file")
	}
	rel := filepath.FromSlash(strings.ReplaceAll(name, `\`, "/"))
	if filepath.IsAbs(rel) {
		abs := rel
		for _, names := range [][2]string{{root, abs}, {unlinked(root), abs}, {unlinked(root), unlinked(abs)}} {
			if r, err := filepath.Rel(names[0], names[1]); err == nil && filepath.IsLocal(r) {
				rel = r
				break
			}
		}
	}
	if rel = filepath.Clean(rel); !filepath.IsLocal(rel) || rel == "." || strings.Contains(rel, "\x00") {
		return "", notEvidence(name, "is not a file of the project")
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}

// unlinked is a path without links, if there is such a path.
func unlinked(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	return name
}

// hashFile hashes a file below a folder as it is now.
func hashFile(root, rel string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", notEvidence(rel, "can't be read, as the project's folder can't be opened")
	}
	defer dir.Close() // nothing was written
	name := filepath.FromSlash(rel)
	info, err := dir.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &ken.Error{Code: ken.CodeNotFound, Msg: "there is no file " + rel + " in the project", Try: "Check the path, which is relative to the project's folder."}
	case err != nil:
		return "", notEvidence(rel, "leads out of the project, or may not be read")
	case !info.Mode().IsRegular():
		return "", notEvidence(rel, "is no file")
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", notEvidence(rel, "may not be read")
	}
	defer f.Close() // nothing was written
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxCompared+1))
	if err != nil {
		return "", notEvidence(rel, "can't be read whole")
	}
	if n > maxCompared {
		return "", notEvidence(rel, "is larger than 64 MiB")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func notEvidence(name, why string) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: name + " " + why,
		Try: "Name a file of the project that may be read, or say in words what was checked."}
}
