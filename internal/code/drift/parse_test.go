package drift_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
)

// pascal is a manifest as other tools write it.
const pascal = `# .fuseraft/architecture.yaml
Layers:
- Name: Core
  Paths: [src/Core/]
  MayDependOn: []
- Name: Infrastructure
  Paths: [src/Infrastructure/]
  MayDependOn: [Core]
- Name: Orchestration
  Paths: [src/Orchestration/]
  MayDependOn: [Core, Infrastructure]
- Name: Cli
  Paths: [src/Cli/]
  MayDependOn: [Core, Infrastructure, Orchestration]
`

// TestSpellings reads one manifest in every spelling of its keys and lists.
func TestSpellings(t *testing.T) {
	want := []drift.Layer{
		{Name: "Core", Paths: []string{"src/Core/"}},
		{Name: "Infrastructure", Paths: []string{"src/Infrastructure/"}, MayDependOn: []string{"Core"}},
		{Name: "Orchestration", Paths: []string{"src/Orchestration/"}, MayDependOn: []string{"Core", "Infrastructure"}},
		{Name: "Cli", Paths: []string{"src/Cli/"}, MayDependOn: []string{"Core", "Infrastructure", "Orchestration"}},
	}
	for name, text := range map[string]string{
		"Pascal":     pascal,
		"camel":      strings.NewReplacer("Layers", "layers", "Name", "name", "Paths", "paths", "MayDependOn", "mayDependOn").Replace(pascal),
		"snake":      strings.NewReplacer("Layers", "layers", "Name", "name", "Paths", "paths", "MayDependOn", "may_depend_on").Replace(pascal),
		"kebab":      strings.NewReplacer("MayDependOn", "may-depend-on").Replace(pascal),
		"shouting":   strings.NewReplacer("MayDependOn", "MAY_DEPEND_ON").Replace(pascal),
		"CRLF":       strings.ReplaceAll(pascal, "\n", "\r\n"),
		"marked":     "\ufeff" + pascal,
		"indented":   strings.NewReplacer("\n- ", "\n    - ", "\n  ", "\n      ").Replace(pascal),
		"a document": "---\n" + pascal + "...\n",
		"lists": `layers:
  - name: "Core"
    paths:
      - src/Core/
      - src\Core
    may_depend_on:
  - {name: Infrastructure, paths: src/Infrastructure/, may_depend_on: Core}
  - {"name": Orchestration, "paths": ['src/Orchestration/'], "may_depend_on": [Core, Infrastructure]}
  - may_depend_on:
    - Core
    - Infrastructure
    - Orchestration
    paths: [src/Cli/]
    name: Cli
`,
	} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, text)
			for i := range m.Layers {
				if m.Layers[i].Line < 1 {
					t.Errorf("%s is on line %d", m.Layers[i].Name, m.Layers[i].Line)
				}
				m.Layers[i].Line = 0
			}
			if diff := cmp.Diff(want, m.Layers); diff != "" {
				t.Error(diff)
			}
			if !m.Tests || m.Strict || len(m.Warnings()) > 0 {
				t.Errorf("%+v", m)
			}
			if m.LayerOf("src/Cli/a/b.cs") != "Cli" || m.LayerOf("src/Clip/b.cs") != "" || m.LayerOf("src/Core") != "Core" {
				t.Error("wrong layers")
			}
			if !m.Permits("Cli", "Core") || !m.Permits("Core", "Core") || m.Permits("Core", "Cli") || m.Permits("Core", "x") || m.Permits("", "") {
				t.Error("wrong permissions")
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"layers:\n\t- name: a\n", "m.yaml:2: not valid YAML"},
		{"layers:\n  - name: a\n    paths: [*.go]\n", "m.yaml:3: an anchor or alias"},
		{"layers: &x\n  - {name: a, paths: [a]}\nstrict: *x\n", "an anchor or alias"},
		{"layers:\n  - name: a\n    name: b\n", "m.yaml:3: not valid YAML"},
		{"layers: []\nLayers: []\n", `m.yaml:2: "Layers" occurs twice`},
		{"- a\n", "m.yaml:1: not a list"},
		{"layer: []\n", `m.yaml:1: unknown key "layer"`},
		{"layers:\n  - name: a\n    paths: [a]\n    may_depends_on: []\n", `m.yaml:4: unknown key "may_depends_on"`},
		{"layers: core\n", "m.yaml:1: layers is not a list"},
		{"layers:\n  core: [src]\n", "m.yaml:1: layers is not a list"},
		{"layers:\n  - core\n", "m.yaml:2: a layer without a name"},
		{"layers:\n  - paths: [a]\n", "m.yaml:2: a layer without a name"},
		{"layers:\n  - name: '*'\n    paths: [a]\n", "m.yaml:2: a layer without a name"},
		{"layers:\n  - name: a\n", `m.yaml:2: the layer "a" has no paths`},
		{"layers:\n  - name: a\n    paths: [{b: c}]\n", "m.yaml:3: paths has an entry that is not text"},
		{"layers:\n  - name: a\n    paths: [a]\n  - name: a\n    paths: [b]\n", `m.yaml:4: the layer "a" is defined twice: see line 2`},
		{"layers:\n  - name: a\n    paths: [src/a/]\n  - name: b\n    paths:\n      - src/b\n      - ./src//a\n", `m.yaml:7: the path "./src//a" already belongs to the layer "a": see line 2`},
		{"layers:\n  - name: a\n    paths: [../b]\n", `m.yaml:3: the path "../b" leads out of the project`},
		{"layers:\n  - name: a\n    paths: ['src/../../b']\n", "leads out of the project"},
		{"layers:\n  - name: a\n    paths: ['C:\\src']\n", "is not a path from the project's root"},
		{"layers:\n  - name: core\n    paths: [a]\n    may_depend_on: [Core]\n", `m.yaml:4: the layer "core" may depend on "Core", which is not a layer`},
		{"strict: maybe\n", "m.yaml:1: strict is neither true nor false"},
		{"layers:\n\x00", "m.yaml:1: is not UTF-8 text"},
		{"\xff\xfel\x00a\x00", "m.yaml:1: is not UTF-8 text"},
		{strings.Repeat("[", 100), "m.yaml:1: "},
		{"a: !!binary x\n", "a tag"},
	} {
		m, err := drift.Parse("m.yaml", []byte(tt.text))
		if err == nil || m != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n got %v\nwant %s", tt.text, err, tt.want)
			continue
		}
		if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%q: no hint, or no ErrInvalid", tt.text)
		}
	}
	// Everything that is wrong is said.
	_, err := drift.Parse("m.yaml", []byte("layers:\n  - name: core\n    path: [a]\n    may_depend_on: [cor]\nstrikt: true\n"))
	for _, want := range []string{`m.yaml:3: unknown key "path"`, `m.yaml:5: unknown key "strikt"`, "which is not a layer"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	if got := ken.Hint(err); got != "Use paths, or one of name, paths, may_depend_on." {
		t.Error(got)
	}
	// Without indentation, paths belong to no layer.
	_, err = drift.Parse("m.yaml", []byte("Layers:\n- Name: Core\nPaths: [src/Core/]\nMayDependOn: []\n"))
	if err == nil || !strings.Contains(err.Error(), `m.yaml:3: "Paths" belongs to a layer`) || !strings.Contains(ken.Hint(err), "far to the right") {
		t.Errorf("%v: %s", err, ken.Hint(err))
	}
}
