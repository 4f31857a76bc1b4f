package doctor

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/config"
)

func TestTemplateSetsNothing(t *testing.T) {
	text := template()
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), c, cmp.AllowUnexported(config.Config{})); diff != "" {
		t.Errorf("(-default +template):\n%s", diff)
	}
	if set := regexp.MustCompile(`(?m)^ *[^#\s].*[^:\n]$`).FindAllString(text, -1); len(set) > 0 {
		t.Errorf("it sets %q", set)
	}
}

// Removing the # of each key sets all of them, to the defaults.
func TestTemplateHasEveryKey(t *testing.T) {
	text := regexp.MustCompile(`(?m)^( *)#([a-z0-9_]+: |- )`).ReplaceAllString(template(), "$1$2")
	_, text, _ = strings.Cut(text, "\n") // the line that says so
	if diff := cmp.Diff(config.Default().YAML(), text); diff != "" {
		t.Errorf("(-all keys +template):\n%s", diff)
	}
}
