package lexed

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenFiles are the paths of the golden inputs in a repository.
var goldenFiles = map[string]string{
	"cart.ts": "web/src/cart.ts", "view.tsx": "web/src/view.tsx", "client.js": "web/client.js", "legacy.cjs": "web/legacy.cjs", "cart.test.ts": "web/src/cart.test.ts",
	"shop.py": "shop/carts/shop.py", "test_shop.py": "tests/test_shop.py",
	"Cart.java": "src/main/java/com/example/shop/cart/Cart.java", "Cart.cs": "Carts/Cart.cs",
	"cart.rs": "carts/src/cart.rs", "cart.h": "include/cart.h", "cart.c": "src/cart.c", "shelf.hpp": "include/shelf.hpp", "shelf.cpp": "src/shelf.cpp",
}

// goldenSet returns the Set for that repository.
func goldenSet() *Set {
	files := []string{
		"web/src/pricing.ts", "web/src/store/index.ts", "web/src/format.tsx", "web/src/errors/index.ts", "web/src/helpers.js", "web/src/setup.ts", "web/src/legacy.js", "web/src/button.tsx",
		"web/parse.js", "web/lazy.js", "web/util.js", "web/emitter/index.js", "shelf/src/index.ts", "shelf/package.json", "web/tsconfig.json",
		"shop/__init__.py", "shop/base.py", "shop/carts/__init__.py", "shop/carts/pricing.py", "shop/carts/store.py",
		"carts/Cargo.toml", "carts/src/lib.rs", "carts/src/pricing/mod.rs", "carts/src/pricing/rates.rs", "carts/src/pricing/util.rs", "carts/src/store.rs", "carts/src/errors.rs", "carts/src/cart/lines.rs",
		"include/pricing.h",
	}
	for _, f := range goldenFiles {
		files = append(files, f)
	}
	return New(Options{Files: files, Read: func(p string) ([]byte, error) {
		switch p {
		case "shelf/package.json":
			return []byte(`{"name": "@shop/shelf", "main": "dist/index.js"}`), nil
		case "carts/Cargo.toml":
			return []byte("[package]\nname = \"shop-carts\"\n\n[dependencies]\nserde = \"1\"\n"), nil
		}
		return nil, os.ErrNotExist
	}})
}

func TestGolden(t *testing.T) {
	set := goldenSet()
	for name, place := range goldenFiles {
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join("testdata/golden", name))
			if err != nil {
				t.Fatal(err)
			}
			got := show(check(t, set, place, string(src)))
			golden := filepath.Join("testdata/golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			// What line ends look like makes no difference.
			crlf := check(t, set, place, strings.ReplaceAll(string(src), "\n", "\r\n"))
			if diff := cmp.Diff(got, strings.ReplaceAll(show(crlf), "\\r\\n", "\\n")); diff != "" {
				t.Errorf("with CRLF: -LF +CRLF\n%s", diff)
			}
			if bom := check(t, set, place, "\ufeff"+string(src)); show(bom) != got {
				t.Error("a byte order mark makes a difference")
			}
		})
	}
}

// show returns a short form of a file's content.
func show(f codegraph.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s within %q test=%t generated=%t\n", f.Path, f.Language, f.Within, f.Test, f.Generated)
	for _, s := range f.Scopes {
		fmt.Fprintf(&b, "scope %s\n", s)
	}
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "problem %d: %s\n", p.Line, p.Text)
	}
	for _, i := range f.Imports {
		fmt.Fprintf(&b, "%d: import %s as %q -> %s\n", i.Line, i.Path, i.Name, i.Target)
	}
	for i, d := range f.Decls {
		mark := "-"
		if d.Exported {
			mark = "+"
		}
		in := ""
		if d.Parent >= 0 {
			in = " in " + f.Decls[d.Parent].Name
		}
		fmt.Fprintf(&b, "%d-%d: %s%s%s\n\t%s\n", d.Line, d.End, mark, codegraph.ID(d.Kind, d.Qualified), in, d.Signature)
		if d.Doc != "" {
			fmt.Fprintf(&b, "\t// %s\n", d.Doc)
		}
		showUses(&b, f, i)
	}
	b.WriteString("the file\n")
	showUses(&b, f, -1)
	return b.String()
}

func showUses(b *strings.Builder, f codegraph.File, from int) {
	for _, u := range f.Uses {
		if u.From != from {
			continue
		}
		exact := ""
		if u.Qualified {
			exact = " (qualified)"
			if u.Typed {
				exact = " (typed)"
			}
		}
		fmt.Fprintf(b, "\t%d %s %s%s\n", u.Line, u.Kind, u.Name, exact)
	}
}

func TestLanguage(t *testing.T) {
	for file, want := range map[string]string{
		"a.ts": "typescript", "a.d.ts": "typescript", "a.TSX": "typescript", "a.mjs": "javascript", "x/a.pyi": "python", "A.java": "java", "A.cs": "csharp",
		"a.rs": "rust", "a.c": "c", "a.h": "cpp", "a.hpp": "cpp", "a.go": "", "Makefile": "", path.Join("a", ".ts"): "typescript",
	} {
		if got := Language(file); got != want {
			t.Errorf("Language(%q) = %q, want %q", file, got, want)
		}
	}
}
