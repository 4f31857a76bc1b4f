package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
)

// Load reads the file at path as one that the user chose: every key counts, and no other
// file does. Its errors are an ErrInvalid as from Parse, with the path in the message, and
// an ErrNotFound for a file that can't be read. See Resolve for a project's configuration.
func Load(path string) (Config, error) {
	b, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return parse(path, b)
}

// readFile reads a regular file, no more of it than a configuration may have and a byte.
func readFile(path string) ([]byte, error) {
	b, err := readRegular(path)
	if err == nil {
		return b, nil
	}
	e := &ken.Error{Code: ken.CodeNotFound, Msg: "read configuration", Err: err,
		Try: "Check the path and the file's permissions."}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "Create the file, which may be empty, or unset KEN_CONFIG if it names the wrong one."
	}
	return nil, e
}

func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a device or a pipe may have no end
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads a configuration: the defaults, overlaid with what b sets, and
// validated. Its errors are an ErrInvalid with the dotted key as Field and the
// line in the message.
func Parse(b []byte) (Config, error) { return parse("", b) }

func parse(file string, b []byte) (Config, error) {
	c := Default()
	if _, err := decode(&c, file, b); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Find returns the configuration file of the project in root, and false when it
// has none. KEN_CONFIG wins, even if there is no such file, so that a misspelled
// path is noticed; then .ken/config.yaml; then ken.yaml.
func Find(root string) (path string, ok bool) {
	if p := os.Getenv("KEN_CONFIG"); p != "" {
		return p, true
	}
	for _, name := range []string{filepath.Join(".ken", "config.yaml"), "ken.yaml"} {
		p := filepath.Join(root, name)
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p, true
		}
	}
	return "", false
}
