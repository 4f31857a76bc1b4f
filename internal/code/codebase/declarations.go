package codebase

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/repository"
)

// standalone reads files of languages other than Go individually. The meaning of their imports is not needed.
var standalone = lexed.New(lexed.Options{})

// Declarations returns the declarations in a file, for repository.Options. It returns nil for Go and for files that
// package lexed does not read. It is safe for concurrent use.
func Declarations(path string, content []byte) []repository.Declaration {
	if lexed.Language(path) == "" {
		return nil
	}
	f := standalone.Extract(path, content)
	out := make([]repository.Declaration, 0, len(f.Decls))
	for i := range f.Decls {
		d := &f.Decls[i]
		if d.Kind == codegraph.KindProperty && d.Line == d.End || givesClass(f.Decls[i:]) {
			continue
		}
		name := d.Name
		for at, depth := d.Parent, 0; at >= 0 && at < i && depth < maxNesting; at, depth = f.Decls[at].Parent, depth+1 {
			name = f.Decls[at].Name + "." + name
		}
		out = append(out, repository.Declaration{Name: name, Line: d.Line, End: d.End,
			Body:      d.Kind == codegraph.KindFunction || d.Kind == codegraph.KindMethod,
			Container: d.Kind == codegraph.KindType || d.Kind == codegraph.KindInterface || d.Kind == codegraph.KindNamespace})
	}
	return out
}

// maxNesting is the maximum number of names in the qualified name of a nested declaration.
const maxNesting = 4

// givesClass reports whether the first of the declarations is a function without a name of its own that is only there to
// give back the class after it.
func givesClass(decls []codegraph.Decl) bool {
	d := decls[0]
	return d.Kind == codegraph.KindFunction && len(decls) > 1 && decls[1].Kind == codegraph.KindType &&
		decls[1].Line == d.Line && decls[1].End == d.End && (d.Name == "default" || decls[1].Name == d.Name)
}
