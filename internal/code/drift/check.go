package drift

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Options configures Check.
type Options struct {
	Baseline *Baseline // known violations; nil for none
}

// LayerReport counts the files and imports of a layer.
type LayerReport struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`   // source files
	Imports int    `json:"imports"` // imports of other layers by its checked files
}

// Report is the result of Check. Its lists are sorted and never nil.
type Report struct {
	Manifest   string        `json:"manifest"`
	Layers     []LayerReport `json:"layers"`     // in the order of the manifest
	Files      int           `json:"files"`      // source files in layers that were checked
	Tests      int           `json:"tests"`      // files that were not checked because they contain tests
	Unassigned int           `json:"unassigned"` // source files in no layer
	Imports    int           `json:"imports"`    // from one layer to another

	// Violations are new, and Known are in the baseline; both are ordered by file, line and import. The other entries of
	// the baseline are Fixed if they are not in the project any more, Permitted if they are and the manifest permits them
	// now, and Unchecked if they are and the manifest's rules no longer apply to them.
	Violations []Violation `json:"violations"`
	Known      []Violation `json:"known"`
	Fixed      []Entry     `json:"fixed"`
	Permitted  []Entry     `json:"permitted"`
	Unchecked  []Entry     `json:"unchecked"`
	Warnings   []string    `json:"warnings"` // findings that are no violations but should be looked at

	view *codegraph.View // what was checked, with m
	m    *Manifest
}

// Check checks all imports in the graph that lead from one layer to another.
func Check(view *codegraph.View, m *Manifest, o Options) Report {
	c := checker{m: m, layers: map[string]int{}}
	r := Report{Manifest: m.Path, Layers: make([]LayerReport, len(m.Layers)), Violations: []Violation{}, Known: []Violation{},
		Fixed: []Entry{}, Permitted: []Entry{}, Unchecked: []Entry{}, Warnings: []string{}, view: view, m: m}
	for i := range m.Layers {
		r.Layers[i].Name = m.Layers[i].Name
	}
	var all []Violation
	for s := range view.Sources {
		all = append(all, c.checkFile(&s, &r)...)
	}
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Import, b.Import))
	})
	there := make(map[string]bool, len(all))
	for _, v := range all {
		there[v.Fingerprint] = true
		if o.Baseline.has(v.Fingerprint) {
			r.Known = append(r.Known, v)
		} else {
			r.Violations = append(r.Violations, v)
		}
	}
	r.sortGone(o.Baseline, there)
	r.Warnings = append(r.Warnings, m.Warnings()...)
	for _, l := range r.Layers {
		if l.Files == 0 {
			r.Warnings = append(r.Warnings, "the layer "+l.Name+" has no source files: check its paths")
		}
	}
	return r
}

// checker caches the layers of files.
type checker struct {
	m      *Manifest
	layers map[string]int
}

func (c *checker) layerOf(path string) int {
	i, ok := c.layers[path]
	if !ok {
		i = c.m.layerOf(path)
		c.layers[path] = i
	}
	return i
}

// checkFile counts a file and returns its violations.
func (c *checker) checkFile(s *codegraph.Source, r *Report) (out []Violation) {
	from := c.layerOf(s.Path)
	if from >= 0 {
		r.Layers[from].Files++
	} else {
		r.Unassigned++
	}
	switch {
	case s.Test && !c.m.Tests:
		r.Tests++
		return nil
	case from < 0 && c.m.Strict:
		return []Violation{{Fingerprint: fingerprint(RuleUnassigned, s.Path, ""), Rule: RuleUnassigned, File: s.Path, Line: 1, Language: s.Language, Hash: s.Hash}}
	case from < 0:
		return nil
	}
	r.Files++
	for i := range s.Imports {
		im := &s.Imports[i]
		to, forked := c.importedLayers(im)
		if slices.ContainsFunc(to, func(l int) bool { return l >= 0 && l != from }) {
			r.Layers[from].Imports++
			r.Imports++
		}
		wrong := slices.IndexFunc(to, func(l int) bool { return l >= 0 && !c.m.mayDepend(from, l) })
		if wrong < 0 {
			continue
		}
		v := Violation{Fingerprint: fingerprint(RuleDependency, s.Path, im.ID), Rule: RuleDependency, File: s.Path, Line: max(im.Line, 1), Language: s.Language,
			Layer: c.m.Layers[from].Name, Import: im.ID, ImportLayer: c.m.Layers[to[wrong]].Name, Allowed: c.m.Layers[from].MayDependOn, How: im.How, Hash: s.Hash}
		if forked {
			v.How = codegraph.Guess
		}
		out = append(out, v)
	}
	return out
}

// importedLayers returns the layers of an import, the one with the most files first. forked reports whether there were
// several candidates.
func (c *checker) importedLayers(im *codegraph.Imported) (layers []int, ambiguous bool) {
	all := c.rankLayers(im.Files)
	if len(all) < 2 {
		return all, false
	}
	if used := c.rankLayers(im.Used); len(used) > 0 {
		return used, true
	}
	return all[:1], true
}

// rankLayers lists the layers of files, the one with the most files first. Ties are decided by the order of files, not
// by that of the manifest.
func (c *checker) rankLayers(files []string) (layers []int) {
	count := map[int]int{}
	for _, f := range files {
		i := c.layerOf(f)
		if count[i]++; count[i] == 1 {
			layers = append(layers, i)
		}
	}
	slices.SortStableFunc(layers, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	return layers
}

// Rule is the rule that a violation breaks.
type Rule string

// The rules.
const (
	RuleDependency Rule = "layer-dependency" // an import that the manifest does not permit
	RuleUnassigned Rule = "file-in-no-layer" // a file in no layer, if the manifest is strict
)

// Violation is something that the manifest does not permit.
type Violation struct {
	Fingerprint string `json:"fingerprint"` // of rule, file and import: 32 hex digits
	Rule        Rule   `json:"rule"`
	File        string `json:"file"`     // from the root, with slashes
	Line        int    `json:"line"`     // of the import, from 1
	Language    string `json:"language"` // as in the graph: "go", "csharp"

	// Only for RuleDependency:
	Layer       string        `json:"layer,omitempty"`
	Import      string        `json:"import,omitempty"` // ID of the imported node: "namespace:Shop.Data"
	ImportLayer string        `json:"import_layer,omitempty"`
	Allowed     []string      `json:"allowed,omitempty"` // what the layer may depend on
	How         codegraph.How `json:"how,omitempty"`

	Hash string `json:"hash,omitempty"` // of the file's content, as in evidence
}

// fingerprint identifies a violation even if lines have moved or layers were renamed.
func fingerprint(r Rule, file, imported string) string {
	sum := sha256.Sum256([]byte("drift 1\x00" + string(r) + "\x00" + file + "\x00" + imported))
	return hex.EncodeToString(sum[:16])
}

// Imports returns the imported package in its usual form: the ID without its kind.
func (v *Violation) Imports() string { return importName(v.Import) }

func importName(id string) string {
	if _, name, ok := codegraph.Split(id); ok {
		return name
	}
	return id
}

// Message describes the violation in one line, without file and line.
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
