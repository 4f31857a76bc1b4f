package scip

import (
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Read reads an index, and the files under root that it is about, and says what they
// refer to. The refinement counts for the names of which the index says something, in references and calls, and in implements and
// inherits when the index has any. What is no index is an error of code invalid, and
// then nothing is returned of it.
func Read(r io.Reader, root string, o Options) (codegraph.Refinement, Report, error) {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return codegraph.Refinement{}, Report{}, &ken.Error{Code: ken.CodeNotFound, Field: "root", Msg: "can't be opened", Err: err}
	}
	defer tree.Close()
	made := o.Made
	if f, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok && made.IsZero() {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			made = info.ModTime()
		}
	}
	in := reader{tree: tree, root: root, made: made, folder: path.Clean(o.Folder), file: o.File, numbers: map[string]int32{}, known: map[string]string{}}
	if o.File == nil {
		in.file = func(string) (codegraph.File, bool) { return codegraph.File{}, false }
	}
	if err := stream(r, in.visit); err != nil {
		return codegraph.Refinement{}, Report{}, &ken.Error{Code: ken.CodeInvalid, Field: "index", Msg: "is no SCIP index, or a broken one",
			Try: "Make it again with its indexer; it is the file that is usually called index.scip.", Err: err}
	}
	ref := in.refinement()
	for _, f := range ref.Files {
		in.report.Edges += len(f.Edges)
	}
	return ref, in.report, nil
}

// reader gathers what the documents of an index say.
type reader struct {
	tree   *os.Root
	root   string
	made   time.Time
	folder string
	file   func(path string) (codegraph.File, bool)

	tool    string
	report  Report
	files   []indexed
	numbers map[string]int32  // of symbols that are not local
	known   map[string]string // IDs of what the graph has in the files of the index, by qualified name
	nodes   []node            // by number
}

// node is what a symbol has become so far.
type node struct {
	id     string // "" as long as no definition is known
	placed bool   // it is a node of the graph's
	kind   uint64 // as the index has it
}

// visit takes a field of the index.
func (in *reader) visit(num protowire.Number, v []byte) error {
	switch num {
	case 1:
		m, err := readMetadata(v)
		if err != nil {
			return err
		}
		in.tool, in.report.Tool = m.tool, strings.TrimSpace(m.tool+" "+m.version)
		if in.folder == "." {
			in.folder = in.within(m.root)
		}
	case 2:
		d, err := readDocument(v)
		if err != nil {
			return err
		}
		in.report.Documents++
		in.document(d)
	}
	return nil
}

// within returns where the folder that an index was made in lies in the tree, and "."
// when it does not.
func (in *reader) within(project string) string {
	u, err := url.Parse(project)
	if err != nil || u.Scheme != "file" {
		return "."
	}
	abs, err := filepath.Abs(in.root)
	if err != nil {
		return "."
	}
	rel, err := filepath.Rel(abs, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return "."
	}
	return filepath.ToSlash(rel)
}

// number is that of a symbol, and -1 for a local one.
func (in *reader) number(symbol []byte) int32 {
	if len(symbol) == 0 || strings.HasPrefix(string(symbol[:min(6, len(symbol))]), "local ") {
		return -1
	}
	if n, ok := in.numbers[string(symbol)]; ok {
		return n
	}
	n := int32(len(in.nodes)) //nolint:gosec // an index of that many symbols does not fit
	in.numbers[string(symbol)] = n
	in.nodes = append(in.nodes, node{})
	return n
}

func (in *reader) skipDocument(path, reason string) {
	if len(in.report.Left) < maxLeft {
		in.report.Left = append(in.report.Left, Left{path, reason})
	}
}
