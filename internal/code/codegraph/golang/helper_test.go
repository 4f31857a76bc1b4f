package golang_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

var shop = map[string]string{".": "example.com/shop"}

// read extracts cart/cart.go of example.com/shop, and fails on problems.
func read(t *testing.T, src string) codegraph.File {
	t.Helper()
	f := golang.New(shop)("cart/cart.go", []byte(src))
	if len(f.Problems) > 0 {
		t.Fatalf("problems: %v", f.Problems)
	}
	return f
}

// uses returns the uses of a file as "from kind name", with "~" before an unqualified name and without the path of the
// module.
func uses(f codegraph.File) []string {
	var out []string
	for _, u := range f.Uses {
		from := "file"
		if u.From >= 0 {
			from = short(f.Decls[u.From].Qualified)
		}
		name := short(u.Name)
		if !u.Qualified {
			name = "~" + name
		}
		out = append(out, fmt.Sprintf("%s %s %s", from, u.Kind, name))
	}
	slices.Sort(out)
	return out
}

func short(s string) string { return strings.TrimPrefix(s, "example.com/shop/") }

func same(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// goFiles lists the Go files of a tree.
func goFiles(tb testing.TB, tree fs.FS) []string {
	tb.Helper()
	var files []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(p) == ".go" && d.Type().IsRegular() {
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}
