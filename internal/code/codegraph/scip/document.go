package scip

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// indexed holds the data of a document until all symbols are known.
type indexed struct {
	path, hash string
	from       []string // IDs
	refs       []ref
	relations  []symbolRelation
	decls      []codegraph.Decl // declarations that the graph does not have
}

// ref is a reference to a symbol.
type ref struct {
	symbol int32
	line   int32 // from 1
	from   int32 // index in indexed.from; -1 for the file
	call   bool
}

// symbolRelation says that a symbol implements, stands for, or has the type of another one.
type symbolRelation struct {
	from, to       int32
	line           int32
	implementation bool
}

const (
	maxFile   = 64 << 20 // bytes
	roleIsDef = 1
)

// document checks a document against its file and stores its data.
func (in *reader) document(d document) {
	p := path.Join(in.folder, d.path)
	text, why, missing := in.content(p, d)
	if missing {
		in.report.Missing++
		in.skipDocument(p, why)
		return
	}
	c := newContent(text, encodingOf(d.encoding, in.tool))
	if why == "" {
		why = mismatch(&c, d.occurrences)
	}
	if why != "" {
		in.report.Stale++
		in.skipDocument(p, why)
		return
	}
	in.report.Files++
	sum := sha256.Sum256(text)
	out := indexed{path: p, hash: "sha256:" + hex.EncodeToString(sum[:])}
	known, ok := in.file(p)
	if !ok || known.Hash != "" && known.Hash != out.hash {
		known = codegraph.File{}
	}
	pl := declarationMatcher{in: in, doc: &d, text: &c, known: known, path: p}
	pl.kinds()
	owner := pl.define(&out)
	for _, o := range d.occurrences {
		n := in.number(o.symbol)
		if n < 0 || o.roles&roleIsDef != 0 {
			continue
		}
		r := ref{symbol: n, line: int32(o.at.line + 1), from: -1} //nolint:gosec // no file has more lines
		if o.at.line < len(owner) {
			r.from = owner[o.at.line]
		}
		if _, _, after, ok := c.at(o.at); ok {
			r.call = called(after)
		}
		out.refs = append(out.refs, r)
	}
	pl.relate(&out)
	in.files = append(in.files, out)
}

// content reads the file of a document. why says how the file differs from the indexed one or, with missing, why it
// can't be read.
func (in *reader) content(p string, d document) (text []byte, why string, missing bool) {
	if !filepath.IsLocal(filepath.FromSlash(p)) || strings.Contains(p, "\\") {
		return nil, "the path leads out of the root", true
	}
	info, err := in.tree.Lstat(p)
	switch {
	case err != nil:
		return nil, "there is no such file", true
	case !info.Mode().IsRegular():
		return nil, "it is no regular file", true
	case info.Size() > maxFile:
		return nil, "the file is too large", true
	}
	if text, err = in.tree.ReadFile(p); err != nil {
		return nil, "it can't be read", true
	}
	switch {
	case len(d.text) > 0 && !bytes.Equal(d.text, text):
		return text, "the text that was indexed is another", false
	case len(d.text) == 0 && !in.made.IsZero() && info.ModTime().After(in.made):
		return text, "modified after the index was made", false
	}
	return text, "", false
}

// mismatch says why a document's definitions do not fit a file. It returns "" if they do: at least nine of ten names
// are at their positions.
func mismatch(c *content, list []occurrence) string {
	right, all := 0, 0
	for _, o := range list {
		if o.roles&roleIsDef == 0 || o.at.line != o.at.endLine || o.at.endCol == o.at.col {
			continue
		}
		s, ok := parse(string(o.symbol))
		if !ok {
			continue
		}
		last := s.descriptors[len(s.descriptors)-1]
		n := sourceName(last.name)
		if last.suffix == namespace || last.suffix == meta || n == "" {
			continue
		}
		all++
		if _, what, _, ok := c.at(o.at); ok && spells(what, n) {
			right++
		}
	}
	if all > 0 && right*10 < all*9 {
		return fmt.Sprintf("of %d names that it defines, %d are in another place now", all, all-right)
	}
	return ""
}

// sourceName returns the name in the source for a name in a symbol; "" if it is not in the source. Indexers put such
// names between angle brackets.
func sourceName(name string) string {
	for _, accessor := range []string{"<get>", "<set>"} {
		if rest, ok := strings.CutPrefix(name, accessor); ok {
			return rest
		}
	}
	if strings.HasPrefix(name, "<") {
		return ""
	}
	return name
}
