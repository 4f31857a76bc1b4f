package middleware_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// shopFiles are a small project in two languages, with decisions about it.
var shopFiles = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.26\n",
	"depot/shelf.go": `// Package depot keeps goods.
package depot

// Shelf is room for goods. It is not safe for concurrent use.
type Shelf struct{ Goods []string }

// Put puts goods on the shelf.
func (s *Shelf) Put(good string) { s.Goods = append(s.Goods, good) }

// Stacker puts goods somewhere.
type Stacker interface{ Put(good string) }
`,
	"cart/cart.go": `package cart

import "example.com/shop/depot"

// FillShelf puts two goods on a shelf.
func FillShelf(s *depot.Shelf) {
	s.Put("tea")
	s.Put("milk")
}

// CountCoins has nothing to do with any of it.
func CountCoins(n int) int { return n + 1 }
`,
	"cart/cart_test.go": "package cart\n\nimport (\n\t\"testing\"\n\n\t\"example.com/shop/depot\"\n)\n\nfunc TestFillShelf(t *testing.T) { FillShelf(&depot.Shelf{}) }\n",
	"web/src/basket.ts": `/** Basket is what a customer carries. */
export class Basket {
  total(): number { return 0 }
}
`,
	"web/src/page.ts": "import { Basket } from './basket'\n\nexport function showBasket(): number { return new Basket().total() }\n",
	"docs/adr/0004-goods-lie-on-shelves.md": `---
status: accepted
date: 2025-04-01
governs: [depot.Shelf]
---
# Goods lie on shelves

## Context

Goods have to lie somewhere, and boxes broke under the weight of the zucchini.

## Decision

A shelf holds goods in the order in which they came. Nobody sorts them.
`,
	"docs/adr/0003-goods-lie-in-boxes.md": `---
status: superseded by ADR-0004
date: 2024-04-01
governs: [depot.Shelf]
---
# Goods lie in boxes

## Decision

A box holds goods in no order at all.
`,
}

// shop writes the project, with changes, and returns its folder.
func shop(t testing.TB, changes ...map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, files := range append([]map[string]string{shopFiles}, changes...) {
		put(t, root, files)
	}
	return root
}

// put writes files below a folder; an empty text deletes one.
func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if text == "" {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inFolder opens the layer in a project.
func inFolder(root string) func(*middleware.Options) {
	return func(o *middleware.Options) { o.Root = root }
}

// oldFiles sets the times of all files back, so that time alone tells of later changes.
func oldFiles(t testing.TB, root string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(p, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cardsIn are the cards of a block, by id.
func cardsIn(r *ken.Receipt) map[string]*ken.Item {
	out := map[string]*ken.Item{}
	for i := range r.Items {
		if r.Items[i].Kind == budgeter.KindSymbol {
			out[r.Items[i].ID] = &r.Items[i]
		}
	}
	return out
}

func says(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

func silent(t testing.TB, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			t.Errorf("%q is in\n%s", w, text)
		}
	}
}

func high(c *config.Config) { c.Retrieval.Weight = ken.WeightHigh }
