package drift

import (
	"slices"
	"strings"
)

// DefaultManifest is where a manifest lies, from the project's root.
const DefaultManifest = ".ken/architecture.yaml"

// The largest files that are read, in bytes.
const (
	MaxManifest = 1 << 20
	MaxBaseline = 64 << 20
)

// Everything in the list of a layer stands for all layers.
const Everything = "*"

// Layer is a part of the project.
type Layer struct {
	Name        string
	Paths       []string // as they were written
	MayDependOn []string // names of layers, or Everything
	Line        int      // of its name in the manifest, from 1
}

// Manifest says which layers there are and what they may depend on. Parse makes one; it
// does not change afterwards.
type Manifest struct {
	Path   string // of the file, from the root: findings name it
	Strict bool   // a file in no layer is a violation
	Tests  bool   // files that hold tests are looked at
	Layers []Layer

	patterns []pattern // that which decides first
	places   map[string]int
	permits  []permit
}

// LayerOf returns the name of the layer that a file belongs to, by its path from the root
// with slashes, and "" when it belongs to none.
func (m *Manifest) LayerOf(path string) string {
	if i := m.layerOf(path); i >= 0 {
		return m.Layers[i].Name
	}
	return ""
}

// none is the place of the layer of what is in no layer.
const none = -1

func (m *Manifest) layerOf(path string) int {
	parts := strings.Split(path, "/")
	for i := range m.patterns {
		if m.patterns[i].matches(parts) {
			return m.patterns[i].layer
		}
	}
	return none
}

// Permits reports whether one layer may depend on another, by their names. Names that the
// manifest does not have permit nothing.
func (m *Manifest) Permits(from, to string) bool {
	i, ok := m.places[from]
	k, known := m.places[to]
	return ok && known && m.may(i, k)
}

// permit is what a layer may depend on beside itself.
type permit struct {
	all bool
	to  map[int]bool
}

func (m *Manifest) may(from, to int) bool {
	p := m.permits[from]
	return from == to || p.all || p.to[to]
}

// prepare prepares what is asked of a manifest whose layers are known to be right.
func (m *Manifest) prepare(patterns []pattern) {
	m.patterns = patterns
	slices.SortStableFunc(m.patterns, func(a, b pattern) int { return a.compare(&b) })
	m.places = make(map[string]int, len(m.Layers))
	for i := range m.Layers {
		m.places[m.Layers[i].Name] = i
	}
	m.permits = make([]permit, len(m.Layers))
	for i := range m.Layers {
		p := permit{to: map[int]bool{}}
		for _, name := range m.Layers[i].MayDependOn {
			if name == Everything {
				p.all = true
			} else {
				p.to[m.places[name]] = true
			}
		}
		m.permits[i] = p
	}
}

// Warnings says what is suspect in the manifest by itself: layers that may depend on each
// other.
func (m *Manifest) Warnings() (out []string) {
	next := func(i int) (to []int) {
		for _, name := range m.Layers[i].MayDependOn {
			if k, ok := m.places[name]; ok && k != i {
				to = append(to, k)
			}
		}
		return to
	}
	for _, group := range components(len(m.Layers), next) {
		if len(group) > 1 {
			out = append(out, "the layers "+enumerate(m.names(group))+" may depend on each other: there is no order among them")
		}
	}
	return out
}

func (m *Manifest) names(layers []int) (out []string) {
	for _, i := range layers {
		out = append(out, m.Layers[i].Name)
	}
	return out
}

// enumerate writes "a, b and c".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
