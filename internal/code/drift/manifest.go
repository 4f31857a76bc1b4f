package drift

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/components"
)

// DefaultManifest is the path of the manifest, from the project's root.
const DefaultManifest = ".ken/architecture.yaml"

// Maximum sizes of files, in bytes.
const (
	MaxManifest = 1 << 20
	maxBaseline = 64 << 20
)

// Everything, in the list of a layer, means all layers.
const Everything = "*"

// Layer is a part of the project.
type Layer struct {
	Name        string
	Paths       []string // as written
	MayDependOn []string // names of layers, or Everything
	Line        int      // of its name in the manifest, from 1
}

// Manifest lists the layers and what they may depend on. Parse makes it; it is immutable afterwards.
type Manifest struct {
	Path   string // path of the file from the root, used in findings
	Strict bool   // a file in no layer is a violation
	Tests  bool   // files that contain tests are checked
	Layers []Layer

	patterns []pattern // sorted so that the first match decides
	places   map[string]int
	permits  []permit
}

// LayerOf returns the name of the layer of a file; "" for none. path starts at the root and has slashes.
func (m *Manifest) LayerOf(path string) string {
	if i := m.layerOf(path); i >= 0 {
		return m.Layers[i].Name
	}
	return ""
}

// none is the index for files in no layer.
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

// Permits reports whether one layer may depend on another, by their names. It returns false for unknown names.
func (m *Manifest) Permits(from, to string) bool {
	i, ok := m.places[from]
	k, known := m.places[to]
	return ok && known && m.mayDepend(i, k)
}

// permit holds the layers on which a layer may depend besides itself: all, or those whose index in Manifest.Layers
// is in to.
type permit struct {
	all bool
	to  map[int]bool
}

func (m *Manifest) mayDepend(from, to int) bool {
	p := m.permits[from]
	return from == to || p.all || p.to[to]
}

// prepare builds the lookup tables of a manifest whose layers have been checked.
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

// Warnings returns suspect parts of the manifest: layers that may depend on each other.
func (m *Manifest) Warnings() (out []string) {
	next := func(i int) (to []int) {
		for _, name := range m.Layers[i].MayDependOn {
			if k, ok := m.places[name]; ok && k != i {
				to = append(to, k)
			}
		}
		return to
	}
	for _, group := range components.Of(len(m.Layers), next) {
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

// enumerate returns "a, b and c".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
