package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
)

// Load reads the file at path. Its errors are an ErrInvalid as from Parse, with
// the path in the message, and an ErrNotFound for a file that can't be read.
func Load(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		e := &ken.Error{Code: ken.CodeNotFound, Msg: "read configuration", Err: err,
			Try: "Check the path and the file's permissions."}
		if errors.Is(err, fs.ErrNotExist) {
			e.Try = "Create the file, which may be empty, or unset KEN_CONFIG if it names the wrong one."
		}
		return Config{}, e
	}
	return parse(path, b)
}

// Parse reads a configuration: the defaults, overlaid with what b sets, and
// validated. Its errors are an ErrInvalid with the dotted key as Field and the
// line in the message.
func Parse(b []byte) (Config, error) { return parse("", b) }

func parse(file string, b []byte) (Config, error) {
	c := Default()
	if err := decode(&c, file, b); err != nil {
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
