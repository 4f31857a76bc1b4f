package lexed

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// preprocessor reads includes and macros.
func (c *cReader) preprocessor() {
	for _, d := range c.dirs {
		switch d.name {
		case "include", "import", "include_next":
			c.include(d)
		case "define":
			c.define(d)
		}
	}
}

// include notes an included file. One in angle brackets counts as one of the repository
// when just one file ends with all of its path.
func (c *cReader) include(d directive) {
	rest := d.rest
	if len(rest) < 3 {
		return
	}
	angle := rest[0] == '<'
	end := strings.IndexAny(rest[1:], "\">")
	if rest[0] != '"' && !angle || end <= 0 {
		return
	}
	spec := rest[1 : end+1]
	imp := codegraph.Import{Path: c.keep(spec), Line: int(d.line)}
	if file, ok := c.set.header(c.file.Path, spec, angle); ok {
		imp.Target = c.keep(codegraph.ID(codegraph.KindFile, file))
		c.includes = append(c.includes, unit(file))
	}
	c.file.Imports = append(c.file.Imports, imp)
}

// define declares a macro: a function if it takes arguments, else a variable. What
// guards a header against a second time is none.
func (c *cReader) define(d directive) {
	name, function, body := macro(d.rest)
	if name == "" || body == "" && !function {
		return
	}
	q := join(c.scope, name)
	if _, ok := c.declared[q]; ok {
		return
	}
	decl := codegraph.Decl{Kind: codegraph.KindVariable, Name: c.keep(name), Qualified: c.keep(q), Parent: -1, Line: int(d.line), End: int(d.line), Exported: true}
	if function {
		decl.Kind = codegraph.KindFunction
	}
	decl.End += strings.Count(d.rest, "\n")
	head := strings.NewReplacer("\\\n", " ", "\\\r\n", " ").Replace(d.rest[:min(len(d.rest), 2*maxSignature)])
	head = strings.Join(strings.Fields(head), " ")
	decl.Signature = clip(strings.ToValidUTF8("#define "+head, "\uFFFD"), maxSignature)
	if d.note >= 0 && d.note < len(c.comments) {
		note := c.comments[d.note]
		decl.Doc = sentence(strings.Split(c.src[note.start:min(note.end, note.start+4096)], "\n"))
	}
	c.declared[decl.Qualified] = len(c.file.Decls)
	c.file.Decls = append(c.file.Decls, decl)
	c.places = append(c.places, place{first: -1, last: -1})
}

// includeScopes makes the names known that the included files declare, in the namespaces
// that this file has open or uses.
func (c *cReader) includeScopes() {
	for _, ns := range c.namespaces {
		for ; ns != ""; ns = parentModule(ns) {
			c.addScope(join(c.scope, ns))
		}
	}
	for _, inc := range c.includes {
		if inc != c.scope {
			c.addScope(inc)
		}
	}
	for _, inc := range c.includes {
		for _, ns := range c.namespaces {
			for ; ns != ""; ns = parentModule(ns) {
				c.addScope(join(inc, ns))
			}
		}
	}
}

// header finds an included file: beside the one that includes it, from the root, or by
// the end of its path, nearest first.
func (s *Set) header(from, spec string, angle bool) (string, bool) {
	spec = path.Clean(spec)
	if !s.known {
		return path.Join(path.Dir(from), spec), !angle && !strings.HasPrefix(path.Join(path.Dir(from), spec), "..")
	}
	if beside := path.Join(path.Dir(from), spec); !angle && s.files[beside] {
		return beside, true
	}
	tail := spec
	for strings.HasPrefix(tail, "../") {
		tail = tail[3:]
	}
	if angle && !strings.Contains(tail, "/") {
		return "", false
	}
	best, score, same := "", -1, 0
	for n, f := range s.headers[path.Base(tail)] {
		if n == 1000 || f != tail && !strings.HasSuffix(f, "/"+tail) {
			continue
		}
		same++
		if sc := shared(f, from); sc > score || sc == score && (len(f) < len(best) || len(f) == len(best) && f < best) {
			best, score = f, sc
		}
	}
	return best, best != "" && (!angle || same == 1)
}

// shared counts the folders that two paths have in common from the root on.
func shared(a, b string) int {
	n := 0
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			n++
		}
	}
	return n
}
