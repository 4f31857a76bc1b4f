package drift

import (
	"slices"

	"github.com/kenlayer/ken"
)

// remains says why something that was a violation and is still in the project is none any more. It is "" for what is
// not in the project any more.
type remains string

const (
	permitted remains = "permitted now"       // by the manifest
	unchecked remains = "no longer looked at" // the rules do not apply to the file or to what it imports
)

// sortGone sorts the entries of a baseline that are no violations any more into Fixed, Permitted and Unchecked. there
// has the fingerprints of those that are.
func (r *Report) sortGone(b *Baseline, there map[string]bool) {
	if b == nil {
		return
	}
	var gone []Entry
	var targets []string
	for _, e := range b.Entries {
		if !there[e.Fingerprint] {
			gone, targets = append(gone, e), append(targets, e.target())
		}
	}
	left := r.remaining(targets)
	for i, e := range gone {
		switch left[targets[i]] {
		case permitted:
			r.Permitted = append(r.Permitted, e)
		case unchecked:
			r.Unchecked = append(r.Unchecked, e)
		default:
			r.Fixed = append(r.Fixed, e)
		}
	}
}

// remaining returns those of the targets that are still in the project that was checked, for targets that are no
// violations.
func (r *Report) remaining(targets []string) map[string]remains {
	left := map[string]remains{}
	if len(targets) == 0 || r.view == nil {
		return left
	}
	asked := make(map[string]bool, len(targets))
	for _, t := range targets {
		asked[t] = true
	}
	c := checker{m: r.m, layers: map[string]int{}}
	for s := range r.view.Sources {
		from := c.layerOf(s.Path)
		skipped := s.Test && !r.m.Tests
		if t := target(RuleUnassigned, s.Path, ""); asked[t] && from < 0 {
			left[t] = permitted
			if skipped {
				left[t] = unchecked
			}
		}
		for i := range s.Imports {
			t := target(RuleDependency, s.Path, s.Imports[i].ID)
			if !asked[t] {
				continue
			}
			left[t] = unchecked
			if to, _ := c.importedLayers(&s.Imports[i]); from >= 0 && !skipped && slices.ContainsFunc(to, func(l int) bool { return l >= 0 }) {
				left[t] = permitted
			}
		}
	}
	return left
}

// Compared returns an error, which is ken.ErrInvalid, if the check says nothing because no source file is in a layer. A
// project that has no source files yet needs no layers.
func (r *Report) Compared() error {
	inLayer := slices.ContainsFunc(r.Layers, func(l LayerReport) bool { return l.Files > 0 })
	if inLayer || len(r.Violations)+len(r.Known) > 0 || len(r.Layers)+r.Unassigned == 0 {
		return nil
	}
	e := &ken.Error{Code: ken.CodeInvalid, Field: r.Manifest, Try: "Correct the paths of its layers. ken drift --propose prints the layers of the project as it is."}
	switch {
	case r.Unassigned == 0:
		e.Msg, e.Try = "nothing was compared: the project has no source files", "Check that its files are there."
	case len(r.Layers) == 0:
		e.Msg, e.Try = "nothing was compared: it has no layers", "Add layers. ken drift --propose prints those of the project as it is."
	default:
		e.Msg = "nothing was compared: no source file is in any of its layers"
	}
	return e
}
