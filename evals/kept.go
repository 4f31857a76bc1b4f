package evals

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
)

// KeptDir is the folder of the reports that a project keeps, below the one of its
// stores: each is a file NAME.json, as Report.Write writes it.
const KeptDir = "sweeps"

// MaxKeptName is how long the name of a kept report may be, in bytes.
const MaxKeptName = 80

// KeptPath is where a project whose state is in a folder keeps the report of a name,
// and ErrInvalid for a name that is none: letters, digits, dots, dashes and low lines,
// with a letter or a digit first.
func KeptPath(state, name string) (string, error) {
	if !keptName(name) {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "keep", Msg: fmt.Sprintf("%q is no name for a report", name),
			Try: fmt.Sprintf("Use letters, digits, dots and dashes, such as before-floor, %d at most.", MaxKeptName)}
	}
	return filepath.Join(state, KeptDir, name+".json"), nil
}

// KeptName makes the name of a kept report out of any text, such as a data set's name.
func KeptName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && keptByte(byte(r)) {
			return r
		}
		return '-'
	}, text)
	name = strings.TrimLeft(name, "._-")
	return name[:min(len(name), MaxKeptName)]
}

func keptName(name string) bool {
	if name == "" || len(name) > MaxKeptName || strings.ContainsRune("._-", rune(name[0])) {
		return false
	}
	for i := range len(name) {
		if !keptByte(name[i]) {
			return false
		}
	}
	return true
}

func keptByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '-' || b == '_'
}
