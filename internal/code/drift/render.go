package drift

import (
	"strings"

	"github.com/kenlayer/ken/internal/plainyaml"
)

const renderHead = `# The layers of this project, and which others each may depend on. ken drift compares
# what the files import with it, and fails when a layer imports what it must not.
#
# This is the project as it was found: each layer may depend on what it imported then.
# Take a name out of may_depend_on to forbid it; ken drift --update-baseline writes down
# the imports that are against the rules already, so that only new ones fail.
#
# paths are from the project's root: a folder with all that is in it, or a file. A part
# of a path may have wildcards (*, ?), and ** stands for any number of parts. A file
# belongs to the layer with the longest path that fits. A layer may always depend on
# itself. may_depend_on: ["*"] permits everything.

# Whether a file that is in no layer fails, too. Otherwise it is not looked at.
strict: false

# Whether files that hold tests are looked at: a test may often use what the code must not.
tests: false

`

const renderNone = `# No source files were found. A layer looks like this:
#
#  - name: web
#    paths: [src/web/]
#    may_depend_on: [core]
layers: []
`

// render returns a proposal. Layers that depend on nothing come first.
func render(m *Manifest, groups [][]int) []byte {
	var b strings.Builder
	b.WriteString(renderHead)
	if len(groups) == 0 {
		b.WriteString(renderNone)
		return []byte(b.String())
	}
	b.WriteString("# What depends on nothing comes first, and what depends on most last.\nlayers:\n")
	for n, g := range groups {
		if n > 0 {
			b.WriteByte('\n')
		}
		if len(g) > 1 {
			b.WriteString("  # " + comment("These import each other, directly or through others: "+enumerate(m.names(g))+".") + "\n")
		}
		for _, i := range g {
			l := &m.Layers[i]
			b.WriteString("  - name: " + plainyaml.Quote(l.Name) + "\n    paths: " + list(l.Paths) + "\n    may_depend_on: " + list(l.MayDependOn) + "\n")
		}
	}
	return []byte(b.String())
}

// comment replaces characters that would end a comment line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return '\ufffd'
		}
		return r
	}, s)
}

func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = plainyaml.Quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
