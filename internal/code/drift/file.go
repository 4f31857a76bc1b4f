package drift

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Read reads the manifest of a project. path starts at the root and has slashes. Errors: ken.ErrNotFound if it does not
// exist, ken.ErrInvalid with the line for invalid content, ken.ErrRefused for a link and for a path outside of root.
func Read(root, path string) (*Manifest, error) {
	text, err := read(root, path, MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: path, Msg: "is not there, so the layers are not known",
			Try: "Run ken init, or ken drift --propose, which prints a manifest of the project as it is."}
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// ReadBaseline reads the baseline of a project. Errors are as in Read.
func ReadBaseline(root, path string) (*Baseline, error) {
	text, err := read(root, path, maxBaseline)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: path, Msg: "is not there", Try: "Write it with ken drift --update-baseline."}
	}
	if err != nil {
		return nil, err
	}
	return ParseBaseline(path, text)
}

// WriteBaseline atomically writes the baseline of a project, and reports whether the file changed. If the existing file
// is not a baseline, it is not changed, and an error is returned.
func WriteBaseline(root, path string, b *Baseline) (changed bool, err error) {
	dir, err := projectfile.Open(root)
	if err != nil {
		return false, err
	}
	defer dir.Close() // the written file is closed already
	var was []byte
	have, err := dir.Read(path, maxBaseline)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, fmt.Errorf("write the baseline: %w", err)
	default:
		if was = have.Bytes; was == nil {
			was = []byte{}
		}
		if _, err := ParseBaseline(path, was); err != nil {
			return false, &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: "is not a baseline; it was not changed", Err: err, Try: "Move the file away, or name another with --baseline."}
		}
	}
	now := b.JSON()
	if was != nil && bytes.Equal(was, now) {
		return false, nil
	}
	if err := dir.Commit(projectfile.Change{Path: path, Was: was, Now: now}); err != nil {
		return false, fmt.Errorf("write the baseline: %w", err)
	}
	return true, nil
}

func read(root, path string, limit int64) ([]byte, error) {
	dir, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // nothing was written
	f, err := dir.Read(path, limit)
	if errors.Is(err, projectfile.ErrTooLarge) {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: fmt.Sprintf("is larger than %d MiB", limit>>20), Try: "Check that it is the right file."}
	}
	return f.Bytes, err
}
