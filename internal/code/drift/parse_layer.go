package drift

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/spelling"
)

const layerForm = `Write "- name: core", and below the name and as far to the right "paths: [src/core/]" and "may_depend_on: []".`

func (r *reader) layers(f plainyaml.Field) {
	switch f.Value.Kind {
	case plainyaml.Null:
		return
	case plainyaml.List:
	default:
		r.fault(f.Line, f.Key+" is not a list", layerForm)
		return
	}
	for _, item := range f.Value.Items {
		if item.Kind != plainyaml.Map {
			r.fault(cmp.Or(item.Line, f.Line), "a layer without a name", layerForm)
			continue
		}
		r.layer(item)
	}
}

func (r *reader) layer(n plainyaml.Node) {
	l := Layer{Line: n.Line}
	at, faults := len(r.m.Layers), len(r.faults)
	var paths, needs []plainyaml.Node
	r.keys(n, layerKeys, func(key string, f plainyaml.Field) {
		switch key {
		case "name":
			l.Name, l.Line = strings.TrimSpace(f.Value.Text), f.Line
		case "paths":
			paths = r.texts(f)
		case "may_depend_on":
			needs = r.texts(f)
			for _, t := range needs {
				l.MayDependOn = append(l.MayDependOn, t.Text)
			}
		}
	})
	switch {
	case l.Name == "" || l.Name == Everything:
		r.fault(l.Line, "a layer without a name", layerForm)
	case r.hasLayer(l.Name):
		r.fault(l.Line, fmt.Sprintf("the layer %q is defined twice: see line %d", l.Name, r.m.Layers[r.layerByName[l.Name]].Line), "Put the paths of both under one of them.")
	case len(paths) == 0 && len(r.faults) == faults && !r.misplacedKeys:
		r.fault(l.Line, fmt.Sprintf("the layer %q has no paths", l.Name), `Say where it lies: "paths: [src/core/]".`)
	}
	if !r.hasLayer(l.Name) {
		r.layerByName[l.Name] = at
	}
	r.m.Layers, r.needs = append(r.m.Layers, l), append(r.needs, needs)
	for _, p := range paths {
		r.path(at, p)
	}
}

// path adds a path to a layer.
func (r *reader) path(layer int, n plainyaml.Node) {
	p, why := newPattern(n.Text)
	if why != "" {
		r.fault(n.Line, fmt.Sprintf("the path %q %s", n.Text, why), "Write a path from the project's root, such as src/core/.")
		return
	}
	l := &r.m.Layers[layer]
	p.layer = layer
	if k, twice := r.layerByPath[p.text()]; twice {
		if k != layer {
			other := &r.m.Layers[k]
			r.fault(n.Line, fmt.Sprintf("the path %q already belongs to the layer %q: see line %d", n.Text, other.Name, other.Line), "Remove it from one of the two layers.")
		}
		return
	}
	r.layerByPath[p.text()] = layer
	l.Paths = append(l.Paths, n.Text)
	r.patterns = append(r.patterns, p)
}

// texts reads a list of scalars. A single scalar is a list of one.
func (r *reader) texts(f plainyaml.Field) (out []plainyaml.Node) {
	items := []plainyaml.Node{f.Value}
	switch f.Value.Kind {
	case plainyaml.Null:
		return nil
	case plainyaml.List:
		items = f.Value.Items
	}
	for _, n := range items {
		n.Line = cmp.Or(n.Line, f.Line)
		n.Text = strings.TrimSpace(n.Text)
		if n.Kind != plainyaml.Scalar || n.Text == "" {
			r.fault(n.Line, f.Key+" has an entry that is not text", "Write a list of texts: [a, b].")
			continue
		}
		out = append(out, n)
	}
	return out
}

func (r *reader) hasLayer(name string) bool {
	_, ok := r.layerByName[name]
	return ok
}

// maxName is the maximum total length of two names that are compared for a suggestion, in bytes.
const maxName = 200

// targets checks that the names in may_depend_on are layers.
func (r *reader) targets() {
	for i := range r.m.Layers {
		for _, n := range r.needs[i] {
			name := n.Text
			if name == Everything || r.hasLayer(name) {
				continue
			}
			if len(r.faults) == maxFaults {
				return
			}
			nearest, best := "", len(name)
			for k := range r.m.Layers {
				other := r.m.Layers[k].Name
				if len(name)+len(other) > maxName {
					continue
				}
				if d := spelling.Distance(name, other); d < best {
					nearest, best = other, d
				}
			}
			try := "Add the layer, or take the name out of the list."
			if nearest != "" {
				try = fmt.Sprintf("Write %q, or add the layer.", nearest)
			}
			r.fault(n.Line, fmt.Sprintf("the layer %q may depend on %q, which is not a layer", r.m.Layers[i].Name, name), try)
		}
	}
}
