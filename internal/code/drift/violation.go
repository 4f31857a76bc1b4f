package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Rule is what a violation is against.
type Rule string

// The rules.
const (
	RuleDependency Rule = "layer-dependency" // an import that the manifest does not permit
	RuleUnassigned Rule = "file-in-no-layer" // a file in no layer, where the manifest is strict
)

// Violation is something that the manifest does not permit.
type Violation struct {
	Fingerprint string `json:"fingerprint"` // of rule, file and import: 32 hex digits
	Rule        Rule   `json:"rule"`
	File        string `json:"file"`     // from the root, with slashes
	Line        int    `json:"line"`     // of the import, from 1
	Language    string `json:"language"` // as the graph has it: "go", "csharp"

	// Of RuleDependency:
	Layer       string        `json:"layer,omitempty"`
	Import      string        `json:"import,omitempty"` // ID of what is imported: "namespace:Shop.Data"
	ImportLayer string        `json:"import_layer,omitempty"`
	Allowed     []string      `json:"allowed,omitempty"` // what the layer may depend on
	How         codegraph.How `json:"how,omitempty"`

	Hash string `json:"hash,omitempty"` // of the file's content, as evidence has it
}

// fingerprint knows a violation again when lines have moved, and when layers have other
// names.
func fingerprint(r Rule, file, imported string) string {
	sum := sha256.Sum256([]byte("drift 1\x00" + string(r) + "\x00" + file + "\x00" + imported))
	return hex.EncodeToString(sum[:16])
}

// Imports is what is imported as people write it: the ID without its kind.
func (v *Violation) Imports() string {
	if _, name, ok := codegraph.Split(v.Import); ok {
		return name
	}
	return v.Import
}

// Message says what is wrong, in one line without the place.
func (v *Violation) Message() string {
	if v.Rule == RuleUnassigned {
		return "the file is in no layer"
	}
	guess := ""
	if v.How == codegraph.Guess {
		guess = " (a guess)"
	}
	return fmt.Sprintf("layer %s must not import %s (layer %s): %s%s", v.Layer, v.Imports(), v.ImportLayer, v.allowed(), guess)
}

func (v *Violation) allowed() string {
	if len(v.Allowed) == 0 {
		return "it may depend on no other"
	}
	return "it may depend on " + enumerate(v.Allowed)
}
