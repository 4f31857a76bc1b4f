package codegraph

import "testing"

func TestHash(t *testing.T) {
	g := New()
	g.Apply([]File{{Path: "a.go", Language: "go", Hash: "sha256:11"}}, nil)
	g.Govern([]Decision{{ID: "ADR-1", Path: "docs/1.md"}})
	before := g.View()
	g.Apply([]File{{Path: "a.go", Language: "go", Hash: "sha256:22"}}, nil)
	for path, want := range map[string]string{"a.go": "sha256:22", "b.go": "", "docs/1.md": "", "": ""} {
		if got := g.View().Hash(path); got != want {
			t.Errorf("%q has %q, want %q", path, got, want)
		}
	}
	if got := before.Hash("a.go"); got != "sha256:11" {
		t.Errorf("a view has changed: %q", got)
	}
}
