package coderecall

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
)

// Fetch puts the files of a repository into folder, which must not exist. Sources are a Go
// module ("go:module@version"), a package of npm ("npm:name@version"), the source
// distribution of a package of PyPI ("pypi:name==version"), or a tag of a git repository
// ("git:url@tag"). It runs go, npm, pip or git with their own configuration.
func Fetch(ctx context.Context, source, folder string) (err error) {
	kind, what, ok := strings.Cut(source, ":")
	if !ok || what == "" || strings.HasPrefix(what, "-") {
		return &ken.Error{Code: ken.CodeInvalid, Field: "source", Msg: fmt.Sprintf("%q is no source", source), Try: "Write it as go:module@version, npm:name@version or pypi:name==version."}
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("fetch %s: %w", source, err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(folder), ".fetch-")
	if err != nil {
		return fmt.Errorf("fetch %s: %w", source, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	got, err := fetchInto(ctx, kind, what, temp)
	if err == nil {
		err = os.Rename(got, folder)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", source, err)
	}
	return nil
}

// fetchInto downloads into temp and returns the folder with the files.
func fetchInto(ctx context.Context, kind, what, temp string) (string, error) {
	switch out := filepath.Join(temp, "files"); kind {
	case "go":
		listed, err := output(ctx, temp, "go", "mod", "download", "-json", what)
		if err != nil {
			return "", err
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(listed, &module); err != nil {
			return "", fmt.Errorf("go mod download: %w", err)
		}
		return out, os.CopyFS(out, os.DirFS(module.Dir))
	case "npm":
		if _, err := output(ctx, temp, "npm", "pack", "--silent", what); err != nil {
			return "", err
		}
	case "pypi":
		if _, err := output(ctx, temp, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", what); err != nil {
			return "", err
		}
	case "git":
		url, tag, _ := strings.Cut(what, "@")
		args := []string{"clone", "--quiet", "--depth", "1"}
		if tag != "" {
			args = append(args, "--branch", tag)
		}
		_, err := output(ctx, temp, "git", append(args, "--", url, out)...)
		return out, err
	default:
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "source", Msg: fmt.Sprintf("%q is none of go, npm, pypi and git", kind)}
	}
	return unpackOnly(temp)
}

// output runs a program in a folder and returns its output.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %s", name, bytes.TrimSpace(exit.Stderr[:min(len(exit.Stderr), 500)]))
	}
	return out, err
}

// unpackOnly unpacks the only archive of a folder, and returns the only folder in it.
func unpackOnly(temp string) (string, error) {
	names, err := filepath.Glob(filepath.Join(temp, "*gz"))
	if err != nil || len(names) != 1 {
		return "", errors.Join(err, fmt.Errorf("%d archives came", len(names)))
	}
	f, err := os.Open(names[0])
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	into := filepath.Join(temp, "files")
	if err := os.Mkdir(into, 0o755); err != nil {
		return "", err
	}
	if err := unpack(f, into); err != nil {
		return "", fmt.Errorf("unpack %s: %w", filepath.Base(names[0]), err)
	}
	inner, err := os.ReadDir(into)
	if err != nil || len(inner) != 1 || !inner[0].IsDir() {
		return into, err
	}
	return filepath.Join(into, inner[0].Name()), nil
}

// maxUnpacked is the maximum size of an unpacked archive, in bytes.
const maxUnpacked = 1 << 30

// unpack extracts the regular files of an archive into a folder, and never outside of it.
func unpack(r io.Reader, into string) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer root.Close() // nothing is left to be written
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	left := int64(maxUnpacked)
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("more than %d bytes", int64(maxUnpacked))
		}
		if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
			return err
		}
		f, err := root.Create(h.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, t)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
