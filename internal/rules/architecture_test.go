package rules

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/drift"
)

var update = flag.Bool("update", false, "write .ken/architecture.yaml")

const architectureHead = `# The layers of this project, as internal/rules has them.
# go test ./internal/rules -run Architecture -update writes this file; make drift checks the imports against it.

strict: true # a folder without a place here is a mistake
tests: false # a test may use what stands above, such as a store for an end-to-end case

layers:
`

// TestArchitecture checks that the manifest of ken drift has the same order of packages as imports_test.go. ken drift
// checks that order for every language; imports_test.go checks it for Go.
func TestArchitecture(t *testing.T) {
	const name = "../../" + drift.DefaultManifest
	folders := []string{"."}
	for _, l := range slices.Concat([][]string{leaves}, layers) {
		for _, f := range l {
			if len(present(f)) > 0 {
				folders = append(folders, f)
			}
		}
	}
	if *update {
		if err := os.MkdirAll("../../.ken", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(architecture(t, folders)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; run go test ./internal/rules -run Architecture -update", err)
	}
	m, err := drift.Parse(drift.DefaultManifest, text)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Strict || m.Tests || len(m.Layers) != len(folders) {
		t.Errorf("%d layers for %d folders, strict %v, tests %v", len(m.Layers), len(folders), m.Strict, m.Tests)
	}
	for _, from := range folders {
		for _, home := range present(from) {
			if l := m.LayerOf(home + "/x.go"); l != from {
				t.Errorf("%s is in the layer %q, want %q", home, l, from)
			}
		}
		for _, to := range folders {
			if got, want := m.Permits(layerName(from), layerName(to)), permitted(t, from, to); got != want {
				t.Errorf("%s may depend on %s: %v, want %v; run go test ./internal/rules -run Architecture -update", from, to, got, want)
			}
		}
	}
}

// present returns the existing folders of a layer.
func present(name string) (folders []string) {
	if name == "." {
		return nil
	}
	for _, f := range homes(name) {
		if _, err := os.Stat("../../" + f); err == nil {
			folders = append(folders, f)
		}
	}
	return folders
}

func layerName(folder string) string {
	if folder == "." {
		return "ken"
	}
	return folder
}

// permitted reports whether the import rule allows a file in one folder to import another folder. It runs the rule.
func permitted(t *testing.T, from, to string) bool {
	t.Helper()
	if from == to {
		return true
	}
	file, imports := "x.go", module
	if from != "." {
		file = from + "/x.go"
	}
	if to != "." {
		imports += "/" + to
	}
	return len(importsPointDown(fixture(t, file, "package x\nimport _ \""+imports+"\"\n"))) == 0
}

// architecture returns the text of the manifest, the lowest layer first.
func architecture(t *testing.T, folders []string) string {
	t.Helper()
	order := slices.Clone(folders)
	slices.SortStableFunc(order, func(a, b string) int { return depth(b) - depth(a) })
	var b strings.Builder
	b.WriteString(architectureHead)
	for _, f := range order {
		var below []string
		for _, to := range order {
			if to != f && permitted(t, f, to) {
				below = append(below, layerName(to))
			}
		}
		path := strings.Join(present(f), "/, ") + "/"
		if f == "." {
			path = `"*.go"`
		}
		b.WriteString("  - name: " + layerName(f) + "\n    paths: [" + path + "]\n    may_depend_on: [" + wrapped(below) + "]\n")
	}
	return b.String()
}

// depth returns the line of a folder's layer, counted from the top.
func depth(folder string) int {
	if folder == "." {
		return len(layers) + 1
	}
	n, _ := layer(folder)
	return n
}

// wrapped splits a list into lines.
func wrapped(names []string) string {
	const width = 110
	var b strings.Builder
	column := len("    may_depend_on: [")
	for i, n := range names {
		if i > 0 {
			if column += len(n) + 2; column > width {
				b.WriteString(",\n      ")
				column = 6 + len(n)
			} else {
				b.WriteString(", ")
			}
		}
		b.WriteString(n)
	}
	return b.String()
}
