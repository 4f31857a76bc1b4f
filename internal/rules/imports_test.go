package rules

import (
	"fmt"
	"slices"
	"strings"
)

// leaves are packages that import only the root package, so that everything may use them. The reason for guardrail is
// in docs/decisions/0003.
var leaves = []string{"access", "analysis", "breaker", "guardrail"}

// layers is the order of the packages, top first. A package may import packages on lower lines and those in its own
// folder.
var layers = [][]string{
	{"clients"},
	{"cmd", "examples", "packaging"},
	{"cli"},
	{"console", "gateway"},
	{"tools", "evals", "operator"},
	{"middleware"},
	{"harvest", "lifecycle"},
	{"session"},
	{"retriever", "budgeter"},
	{"intent", "config"},
	{"structure", "codebase", "drift", "plan"},
	{"attention", "jobs", "receipt", "skill", "codegraph", "decision", "objective", "provenance"},
	{"repository", "trained"},
	{"store"},
	{"embed", "telemetry"},
	{"internal"},
}

// groups are the folders of internal that contain packages of one field.
var groups = []string{"code", "knowledge", "run"}

// layer returns the line of a layer, counted from the top. It returns false for an unknown name.
func layer(name string) (int, bool) {
	if slices.Contains(leaves, name) {
		return len(layers), true
	}
	i := slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, name) })
	return i, i >= 0
}

// layerOf returns the layer of a package's folder: the first part of its path without "internal" and a group. So store,
// internal/store/bolt and internal/run/session are in the layers store, store and session. The rest of internal is the
// layer "internal".
func layerOf(folder string) string {
	parts := strings.Split(folder, "/")
	if parts[0] != "internal" || len(parts) == 1 {
		return parts[0]
	}
	parts = parts[1:]
	if slices.Contains(groups, parts[0]) && len(parts) > 1 {
		parts = parts[1:]
	}
	if _, known := layer(parts[0]); known {
		return parts[0]
	}
	return "internal"
}

// homes returns the folders that may contain packages of a layer.
func homes(name string) []string {
	folders := []string{name}
	if name != "internal" {
		folders = append(folders, "internal/"+name)
		for _, g := range groups {
			folders = append(folders, "internal/"+g+"/"+name)
		}
	}
	return folders
}

// imported returns the paths that a file imports.
func imported(f source) []string {
	var paths []string
	for _, s := range f.ast.Imports {
		paths = append(paths, strings.Trim(s.Path.Value, `"`))
	}
	return paths
}

// importsPointDown checks code but not tests: a test may use higher packages, such as a store for an end-to-end case.
func importsPointDown(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if f.test {
			continue
		}
		from := layerOf(f.dir)
		own, known := layer(from)
		if from != "." && !known {
			faults = append(faults, fmt.Sprintf("%s: %s has no place in the layers of internal/rules", f.path, from))
			continue
		}
		for _, p := range imported(f) {
			rest, ok := strings.CutPrefix(p, module+"/")
			if !ok {
				continue
			}
			to := layerOf(rest)
			target, _ := layer(to)
			switch {
			case from == ".":
				faults = append(faults, fmt.Sprintf("%s: the root package imports %s; it is vocabulary and imports nothing", f.path, rest))
			case from == to:
			case slices.Contains(leaves, from):
				faults = append(faults, fmt.Sprintf("%s: %s is a leaf and imports %s; it may import the root package alone", f.path, from, rest))
			case target < own:
				faults = append(faults, fmt.Sprintf("%s: %s imports %s, which stands above it", f.path, from, rest))
			case target == own:
				faults = append(faults, fmt.Sprintf("%s: %s imports %s, which stands beside it; let what is above join them", f.path, from, rest))
			}
		}
	}
	return faults
}

func noCgo(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if slices.Contains(imported(f), "C") {
			faults = append(faults, f.path+": imports C; the binary must build with CGO_ENABLED=0")
		}
	}
	return faults
}
