package drift

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/components"
)

// maxShare is the largest share of a project's source files for a layer. A folder with more, such as src or internal,
// is split into its subfolders.
const maxShare = 0.6

// maxSplits is the maximum depth of splits, as for src/main/java/com/example/shop.
const maxSplits = 8

// Propose returns a manifest of the project in its present state, as YAML with comments. Its layers are the project's
// folders, and each may depend on what it imports now, so Check finds no violations. Without source files there are no
// layers. The same graph gives the same text.
func Propose(view *codegraph.View) []byte {
	sources := slices.Collect(view.Sources)
	m := &Manifest{Layers: folders(sources)}
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
	groups := components.Of(len(m.Layers), func(i int) []int { return slices.Sorted(maps.Keys(needs[i])) })
	place := make([]int, len(m.Layers)) // positions in the text
	for n, i := range slices.Concat(groups...) {
		place[i] = n
	}
	for i := range m.Layers {
		to := slices.Collect(maps.Keys(needs[i]))
		slices.SortFunc(to, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
		m.Layers[i].MayDependOn = m.names(to)
	}
	return render(m, groups)
}

// folders makes layers of the folders with sources: the top-level ones or, if one of them has most of the files, its
// subfolders. They are ordered by path.
func folders(sources []codegraph.Source) (layers []Layer) {
	count := map[string]int{} // files below a folder; those with tests only if there are no others
	own := map[string]int{}   // files directly in a folder
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

// split lists the folders below a folder that become layers, and the folder itself if files lie directly in it.
func split(dir string, count, own map[string]int, all, depth int) (out []string) {
	if own[dir] > 0 {
		out = append(out, dir)
	}
	for _, d := range foldersIn(dir, count) {
		if depth < maxSplits && float64(count[d]) > maxShare*float64(all) && len(foldersIn(d, count)) > 0 {
			out = append(out, split(d, count, own, all, depth+1)...)
		} else {
			out = append(out, d)
		}
	}
	return out
}

// foldersIn returns the folders directly in a folder, sorted.
func foldersIn(dir string, count map[string]int) (out []string) {
	for d := range count {
		if d != "." && path.Dir(d) == dir {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}

// rootPatterns returns patterns for files at the root, by extension.
func rootPatterns(sources []codegraph.Source) (out []string) {
	for i := range sources {
		if s := sources[i].Path; !strings.Contains(s, "/") {
			out = append(out, "*"+path.Ext(s))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
