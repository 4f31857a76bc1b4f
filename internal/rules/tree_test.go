package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/kenlayer/ken"

// source is one Go file of the repository.
type source struct {
	path  string // relative to the module's root, with slashes
	dir   string // "." for the root
	lines int
	test  bool
	ast   *ast.File
}

// tree is the repository as the rules read it.
type tree struct {
	fset  *token.FileSet
	files []source
	docs  map[string]string // Markdown by path
	paths map[string]bool   // every file and folder but those that load leaves out
}

// load reads a repository. It skips hidden folders, test data, build output and installed packages. From nested modules
// it reads only the documents.
func load(t *testing.T, root fs.FS) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet(), docs: map[string]string{}, paths: map[string]bool{}}
	apart := ""
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != "." && (name[0] == '.' && name != ".ci" || name == "testdata" || name == "bin" || name == "dist" || name == "node_modules") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(p, "go.mod")); err == nil && p != "." {
				apart = p + "/"
			}
			tr.paths[p] = true
			return nil
		}
		tr.paths[p] = true
		if ext := path.Ext(name); ext != ".go" && ext != ".md" {
			return nil
		}
		b, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".md" {
			tr.docs[p] = string(b)
			return nil
		}
		if apart != "" && strings.HasPrefix(p, apart) {
			return nil
		}
		f, err := parser.ParseFile(tr.fset, p, b, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tr.files = append(tr.files, source{path: p, dir: path.Dir(p), lines: strings.Count(string(b), "\n"),
			test: strings.HasSuffix(name, "_test.go"), ast: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// at returns the position of a node.
func (tr *tree) at(n ast.Node) string { return tr.fset.Position(n.Pos()).String() }

// fixture makes a small repository from pairs of path and content.
func fixture(t *testing.T, pairs ...string) *tree {
	t.Helper()
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return load(t, m)
}
