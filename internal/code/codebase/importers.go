package codebase

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
)

// Bounds of what Update does about files that are new. Beyond, it waits for Build.
const (
	maxNew       = 200
	maxImporters = 500
)

// importers lists files that may import one of those among the paths, or below them,
// that the graph does not know yet. They have not changed, and were read when what they
// import was not there.
func importers(v *codegraph.View, r *readers, paths []string) []string {
	words, added := map[string]bool{}, 0
	add := func(p string) {
		if lexed.Language(p) == "" || !r.files[p] {
			return
		}
		if _, known := v.Stamp(p); known {
			return
		}
		added++
		stem, _, _ := strings.Cut(path.Base(p), ".")
		words[stem] = true
		switch stem {
		case "index", "mod", "lib", "main", "__init__": // the folder's name stands for them
			words[path.Base(path.Dir(p))] = true
		}
	}
	for _, p := range paths {
		add(p)
	}
	if folders := foldersAmong(r, paths); len(folders) > 0 {
		for f := range r.files {
			for _, dir := range folders {
				if strings.HasPrefix(f, dir+"/") {
					add(f)
				}
			}
		}
	}
	if added == 0 || added > maxNew {
		return nil
	}
	return v.Importing(words, maxImporters)
}

// foldersAmong are the paths that are no files.
func foldersAmong(r *readers, paths []string) (out []string) {
	for _, p := range paths {
		if !r.files[p] {
			out = append(out, strings.TrimSuffix(p, "/"))
		}
	}
	return out
}
