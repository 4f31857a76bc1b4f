package drift

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/spelling"
)

// Parse parses a manifest. path is its path from the root. The error joins all faults, each a ken.ErrInvalid with its
// line.
func Parse(path string, text []byte) (*Manifest, error) {
	r := reader{m: &Manifest{Path: path, Tests: true}, layerByName: map[string]int{}, layerByPath: map[string]int{}}
	s := strings.TrimPrefix(string(text), "\ufeff")
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		r.fault(1, "is not UTF-8 text", "Save the file as UTF-8.")
		return nil, r.err()
	}
	doc, faults := plainyaml.Parse(s, MaxManifest)
	for _, f := range faults {
		if strings.Contains(f.Text, "alias") { // in YAML, *.go is an alias
			f.Try = "Put a path that begins with * or & into quotes; anchors are not followed."
		}
		r.fault(f.Line, f.Text, f.Try)
	}
	if len(faults) > 0 {
		return nil, r.err()
	}
	r.manifest(doc)
	if len(r.faults) > 0 {
		return nil, r.err()
	}
	r.m.prepare(r.patterns)
	return r.m, nil
}

// reader builds a manifest from its YAML and collects faults.
type reader struct {
	m             *Manifest
	patterns      []pattern
	faults        []fault
	layerByName   map[string]int     // indices of layers by name
	layerByPath   map[string]int     // indices of layers by path
	needs         [][]plainyaml.Node // by layer: the names that it may depend on
	misplacedKeys bool               // keys of a layer occur outside of one, so missing keys are not reported
}

type fault struct {
	line     int
	msg, try string
}

// maxFaults is the maximum number of reported faults.
const maxFaults = 30

func (r *reader) fault(line int, msg, try string) {
	if len(r.faults) == maxFaults {
		return
	}
	r.faults = append(r.faults, fault{max(line, 1), msg, try})
}

// err joins all faults, ordered by line.
func (r *reader) err() error {
	slices.SortStableFunc(r.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(r.faults))
	for i, f := range r.faults {
		errs[i] = &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("%s:%d", r.m.Path, f.line), Msg: f.msg, Try: f.try}
	}
	return errors.Join(errs...)
}

// The keys as errors suggest them.
var (
	manifestKeys = []string{"layers", "strict", "tests"}
	layerKeys    = []string{"name", "paths", "may_depend_on"}
)

// foldKey removes the differences between spellings of a key: MayDependOn, mayDependOn and may_depend_on are the same.
func foldKey(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
}

// keys calls field with each field of a mapping whose key is known, once per key. Other keys are faults.
func (r *reader) keys(n plainyaml.Node, known []string, field func(key string, f plainyaml.Field)) {
	seen := map[string]bool{}
	for _, f := range n.Fields {
		if len(r.faults) == maxFaults {
			return
		}
		key, best := "", len(f.Key)
		for _, k := range known {
			d := spelling.Distance(foldKey(f.Key), foldKey(k))
			if d < best || key == "" {
				key, best = k, d
			}
		}
		switch {
		case best > 0 && slices.ContainsFunc(layerKeys, func(k string) bool { return foldKey(k) == foldKey(f.Key) }):
			r.misplacedKeys = true
			r.fault(f.Line, fmt.Sprintf("%q belongs to a layer, but is outside the list of layers", f.Key), layerForm)
		case best > 0:
			r.fault(f.Line, fmt.Sprintf("unknown key %q", f.Key), "Use "+key+", or one of "+strings.Join(known, ", ")+".")
		case seen[key]:
			r.fault(f.Line, fmt.Sprintf("%q occurs twice", f.Key), "Keep one of them.")
		default:
			seen[key] = true
			field(key, f)
		}
	}
}

func (r *reader) manifest(doc plainyaml.Node) {
	var layers []plainyaml.Field
	r.keys(doc, manifestKeys, func(key string, f plainyaml.Field) {
		switch key {
		case "layers":
			layers = append(layers, f)
		case "strict":
			r.m.Strict = r.flag(f)
		case "tests":
			r.m.Tests = r.flag(f)
		}
	})
	for _, f := range layers {
		r.layers(f)
	}
	r.targets()
}

func (r *reader) flag(f plainyaml.Field) bool {
	switch strings.ToLower(f.Value.Text) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	r.fault(f.Line, f.Key+" is neither true nor false", "Write true or false.")
	return false
}
