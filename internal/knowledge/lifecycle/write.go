package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
)

// Write puts a file with every key, its meaning and its default at path, in a
// folder that is created if need be. It never writes over a file: ErrExists then,
// whatever is in it.
func Write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of the lifecycle policy: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &ken.Error{Code: ken.CodeExists, Msg: path + " is there already", Try: "Edit it, or move it away first."}
	case err != nil:
		return fmt.Errorf("write lifecycle policy: %w", err)
	}
	_, err = f.WriteString(Example())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write lifecycle policy: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// Example is the file that Write writes.
func Example() string {
	var b strings.Builder
	b.WriteString(`# How long Ken keeps things. "ken knowledge gc" shows what would change and why,
# "ken knowledge gc --apply" changes it. Each number is in days; -1 is never.
`)
	for _, k := range keys {
		b.WriteString("\n")
		for _, l := range wrap(k.doc, 88) {
			b.WriteString("# " + l + "\n")
		}
		fmt.Fprintf(&b, "%s: %d\n", k.name, k.fallback)
	}
	return b.String()
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
