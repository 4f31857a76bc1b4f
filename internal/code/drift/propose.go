package drift

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Most is the share of a project's source files beyond which a folder is not a layer but
// holds layers, as src and internal do.
const maxShare = 0.6

// maxSplits bounds how deep layers are looked for: src/main/java/com/example/shop.
const maxSplits = 8

// Propose describes a project as it is: a manifest, as YAML with comments, whose layers are
// the project's folders and may depend on what they import today. Check finds nothing
// against it; with no source files there are no layers. The same graph gives the same
// text.
func Propose(view *codegraph.View) []byte {
	var sources []codegraph.Source
	for s := range view.Sources {
		sources = append(sources, s)
	}
	m := &Manifest{Tests: false}
	m.Layers = folders(sources)
	var patterns []pattern
	for i := range m.Layers {
		for _, text := range m.Layers[i].Paths {
			if p, why := newPattern(text); why == "" {
				p.layer = i
				patterns = append(patterns, p)
			}
		}
	}
	m.prepare(patterns)
	needs := make([]map[int]bool, len(m.Layers))
	c := checker{m: m, layers: map[string]int{}}
	for i := range sources {
		from := c.layerOf(sources[i].Path)
		if from < 0 || sources[i].Test {
			continue
		}
		for k := range sources[i].Imports {
			to, _ := c.importedLayers(&sources[i].Imports[k])
			for _, l := range to {
				if l >= 0 && l != from {
					if needs[from] == nil {
						needs[from] = map[int]bool{}
					}
					needs[from][l] = true
				}
			}
		}
	}
	groups := components(len(m.Layers), func(i int) []int { return slices.Sorted(maps.Keys(needs[i])) })
	place := make([]int, len(m.Layers)) // in the order of the text
	n := 0
	for _, g := range groups {
		for _, i := range g {
			place[i] = n
			n++
		}
	}
	for i := range m.Layers {
		to := slices.Collect(maps.Keys(needs[i]))
		slices.SortFunc(to, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
		m.Layers[i].MayDependOn = m.names(to)
	}
	return render(m, groups)
}

// folders makes layers of the folders that hold the sources: those at the top, or, where
// one folder holds most of them, those in it. They are by path.
func folders(sources []codegraph.Source) (layers []Layer) {
	count := map[string]int{} // files below a folder, those with tests left out where there are others
	own := map[string]int{}   // files in it
	all := 0
	withTests := !slices.ContainsFunc(sources, func(s codegraph.Source) bool { return !s.Test })
	for i := range sources {
		s := &sources[i]
		for d := path.Dir(s.Path); ; d = path.Dir(d) {
			if !s.Test || withTests {
				count[d]++
			} else {
				count[d] += 0
			}
			if d == "." {
				break
			}
		}
		own[path.Dir(s.Path)]++
		if !s.Test || withTests {
			all++
		}
	}
	found := split(".", count, own, all, 0)
	names := map[string]int{}
	for _, f := range found {
		names[path.Base(f)]++
	}
	for _, f := range found {
		l := Layer{Name: path.Base(f), Paths: []string{f + "/"}}
		if names[l.Name] > 1 || f == "." {
			l.Name = f
		}
		if f == "." {
			if l.Name = "root"; names["root"] > 0 {
				l.Name = "the root folder"
			}
			l.Paths = rootPatterns(sources)
		}
		layers = append(layers, l)
	}
	return layers
}

// split lists the folders below a folder that are layers, and the folder itself where
// files lie in it beside them.
func split(dir string, count, own map[string]int, all, depth int) (out []string) {
	var below []string
	for d := range count {
		if d != "." && path.Dir(d) == dir {
			below = append(below, d)
		}
	}
	slices.Sort(below)
	if own[dir] > 0 {
		out = append(out, dir)
	}
	for _, d := range below {
		if depth < maxSplits && float64(count[d]) > maxShare*float64(all) && parts(d, count) > 0 {
			out = append(out, split(d, count, own, all, depth+1)...)
		} else {
			out = append(out, d)
		}
	}
	return out
}

// parts counts the folders in a folder.
func parts(dir string, count map[string]int) (n int) {
	for d := range count {
		if d != "." && path.Dir(d) == dir {
			n++
		}
	}
	return n
}

// rootPatterns are the paths of the files that lie in no folder: by their endings.
func rootPatterns(sources []codegraph.Source) (out []string) {
	for i := range sources {
		if s := sources[i].Path; !strings.Contains(s, "/") {
			out = append(out, "*"+path.Ext(s))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
