package codebase

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/repository"
)

// alone reads files of other languages than Go by themselves: what their imports mean is
// of no interest.
var alone = lexed.New(lexed.Options{})

// Declarations returns what a file declares, for repository.Options; nil for a file of a
// language that the graph reads in other ways or not at all. It is safe for concurrent use.
func Declarations(path string, content []byte) []repository.Declaration {
	if lexed.Language(path) == "" {
		return nil
	}
	f := alone.Extract(path, content)
	out := make([]repository.Declaration, 0, len(f.Decls))
	for i := range f.Decls {
		d := &f.Decls[i]
		if d.Kind == codegraph.KindProperty && d.Line == d.End {
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

// maxNesting bounds the names of what is declared inside of others.
const maxNesting = 4
