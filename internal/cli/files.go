package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// WrittenFile is a file and whether it was newly created.
type WrittenFile struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

// CreateFile writes a file that doesn't exist yet. It returns false if the file exists.
func CreateFile(path, text string) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path)) // a partial file would be used
	}
	return true, nil
}

// HideState keeps the state folder of the project in root out of version control if it is in the
// project. The folder must exist.
func HideState(root, state string) error {
	if !strings.HasPrefix(state, root+string(filepath.Separator)) {
		return nil
	}
	_, err := CreateFile(filepath.Join(state, ".gitignore"), "*\n")
	return err
}

// CheckInput returns an error if an input file is missing or is a folder.
func (a *App) CheckInput(file string) error {
	if file == "-" {
		return nil
	}
	fi, err := os.Stat(file)
	if err == nil && fi.IsDir() {
		err = fmt.Errorf("%s is a folder", file)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the path; - is standard input."}
	}
	return nil
}

// OpenInput opens a file for reading; - is standard input, which stays open and whose reads
// end with ctx.
func (a *App) OpenInput(ctx context.Context, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(a.Input(ctx)), nil
	}
	if err := a.CheckInput(file); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the file's permissions."}
	}
	return f, nil
}

// Replaceable returns the file that path leads to through links, and whether another file may take
// its place: it must be a regular file, or missing. A file renamed to /dev/stdout would replace the
// link itself.
func Replaceable(path string) (string, bool) {
	fi, err := os.Stat(path)
	if err != nil {
		return path, true
	}
	if !fi.Mode().IsRegular() {
		return path, false
	}
	real, err := filepath.EvalSymlinks(path)
	return cmp.Or(real, path), err == nil
}

// ReplaceFile replaces the file of --out once write has written all of it and it is on the disk.
func ReplaceFile(path string, write func(io.Writer) error) error {
	path, ok := Replaceable(path)
	if !ok {
		return UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "--out", Msg: path + " is not a regular file",
			Try: "Leave --out away to write to standard output."})
	}
	created := false
	err := durable.Replace(path, 0o600, func(w io.Writer) error {
		created = true
		return write(w)
	})
	if err != nil && !created {
		return &ken.Error{Code: ken.CodeNotFound, Field: "--out", Msg: "create file", Err: err, Try: "Check that the folder is there and writable."}
	}
	return err
}
