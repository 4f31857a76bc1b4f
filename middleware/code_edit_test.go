package middleware_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// calledTool returns the messages of a tool call and its result.
func calledTool(id, tool string, arguments map[string]string) []string {
	raw, _ := json.Marshal(arguments)
	quoted, _ := json.Marshal(string(raw))
	return []string{
		fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, id, tool, quoted),
		object("role", "tool", "tool_call_id", id, "content", "ok"),
	}
}

// When a tool call has just written a file with a new symbol, the next turn has the
// symbol, without a watcher, for every tool and language.
func TestANewSymbolIsInTheNextTurn(t *testing.T) {
	root := shop(t)
	oldFiles(t, root)
	l := open(t, settings(), inFolder(root))
	if _, err := l.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	msgs := []string{object("role", "user", "content", "Write me a scale.")}
	for i, step := range []struct {
		tool      string
		arguments map[string]string
		files     map[string]string
		ask, want string
	}{
		{"Edit", map[string]string{"file_path": filepath.Join(root, "depot/shelf.go"), "old_string": "x", "new_string": "y"},
			map[string]string{"depot/shelf.go": shopFiles["depot/shelf.go"] + "\n// TipShelf tips it over.\nfunc TipShelf(s *Shelf) { s.Goods = nil }\n"},
			"What does TipShelf do?", "Comment: TipShelf tips it over."},
		{"write_file", map[string]string{"path": "depot/scale.go", "content": "x"},
			map[string]string{"depot/scale.go": "package depot\n\n// WeighGoods weighs what lies on a shelf.\nfunc WeighGoods(s *Shelf) int { return len(s.Goods) }\n"},
			"Who calls WeighGoods?", "Comment: WeighGoods weighs"},
		{"Bash", map[string]string{"command": "cat > web/src/scale.ts <<'EOF'\nx\nEOF"},
			map[string]string{"web/src/scale.ts": "import { Basket } from './basket'\n\n/** weighBasket weighs. */\nexport function weighBasket(b: Basket): number { return b.total() }\n"},
			"What is weighBasket for?", "Comment: weighBasket weighs."},
		{"apply_patch", map[string]string{"input": "*** Begin Patch\n*** Delete File: depot/scale.go\n*** End Patch"},
			map[string]string{"depot/scale.go": ""}, "Who calls WeighGoods?", ""},
	} {
		msgs = append(msgs, calledTool(fmt.Sprint("c", i), step.tool, step.arguments)...)
		put(t, root, step.files)
		msgs = append(msgs, object("role", "assistant", "content", "Done."), object("role", "user", "content", step.ask))
		sent := post(t, l, chatBody(msgs))
		if step.want == "" {
			assertLacks(t, sent[strings.LastIndex(sent, "Done."):], "Comment: WeighGoods")
			continue
		}
		assertContains(t, sent, step.want)
	}
}

// A turn shows the present content of files, also if no change was reported.
func TestNothingStaleIsShown(t *testing.T) {
	root := shop(t)
	oldFiles(t, root)
	l := open(t, settings(), inFolder(root))
	ask := func(q string) ken.Receipt { return l.Assemble(t.Context(), asked(q)).Receipt }
	before := ask("Who calls FillShelf and what is depot.Shelf?")
	if len(cardsIn(&before)) != 2 {
		t.Fatalf("before:\n%s", before.Block)
	}
	put(t, root, map[string]string{"cart/cart.go": "package cart\n\n// Fill2Shelf took its place.\nfunc Fill2Shelf() {}\n", "docs/adr/0004-goods-lie-on-shelves.md": ""})
	after := ask("Who calls FillShelf and what is depot.Shelf?")
	c := cardsIn(&after)[shelfID]
	if c == nil || cardsIn(&after)[fillID] != nil {
		t.Fatalf("after:\n%s", after.Block)
	}
	assertLacks(t, after.Block, "cart.FillShelf", "ADR-0004", "in the order in which")
	if r := ask("What is Fill2Shelf?"); !strings.Contains(r.Block, "Fill2Shelf took its place") {
		t.Errorf("new:\n%s", r.Block)
	}
}

// The branch changes twice under a running layer. Right after a change, the block is
// about the branch that is checked out.
func TestBranchesChangeUnderARunningLayer(t *testing.T) {
	branch := func(name string) map[string]string {
		files := map[string]string{}
		for i := range 30 {
			files[fmt.Sprintf("part%d/part.go", i)] = fmt.Sprintf("package part%d\n\nimport \"example.com/shop/depot\"\n\n// Own%s%d is of branch %s.\nfunc Own%s%d(s *depot.Shelf) { Both%d() }\n\n// Both%d is the one of %s.\nfunc Both%d() {}\n",
				i, name, i, name, name, i, i, i, name, i)
		}
		files["only"+name+"/only.go"] = fmt.Sprintf("package only%s\n\n// Only%s is nowhere else.\nfunc Only%s() {}\n", name, name, name)
		return files
	}
	north, south := branch("North"), branch("South")
	root := shop(t, north)
	oldFiles(t, root)
	var ahead atomic.Int64 // hours
	l := open(t, settings(), inFolder(root), func(o *middleware.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Hour) }
	})
	change := func(from, to map[string]string) {
		for p := range from {
			if _, stays := to[p]; !stays {
				if err := os.Remove(filepath.Join(root, p)); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(t, root, to)
		ahead.Add(1)
	}
	check := func(here, there string, files map[string]string) {
		t.Helper()
		for i := range 4 {
			r := l.Assemble(t.Context(), asked(fmt.Sprintf("What do OwnNorth%d, OwnSouth%d, Both%d and depot.Shelf do?", i, i, i))).Receipt
			assertLacks(t, r.Block, "of branch "+there, "the one of "+there, "Own"+there)
			assertContains(t, r.Block, "of branch "+here, "the one of "+here)
		}
		r := l.Assemble(t.Context(), asked("What is Only"+here+", what Only"+there+"?")).Receipt
		assertContains(t, r.Block, "Only"+here+" is nowhere else")
		assertLacks(t, r.Block, "Only"+there+" is nowhere else")
	}
	check("North", "South", north)
	change(north, south)
	check("South", "North", south)
	change(south, north)
	check("North", "South", north)
}

// Files outside of the project are not read, whatever a tool call or a turn names.
func TestNothingOutsideIsRead(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, map[string]string{"secret.go": "package secret\n\n// OuterThing is nobody's business.\nfunc OuterThing() {}\n"})
	root := shop(t)
	if err := os.Symlink(filepath.Join(outside, "secret.go"), filepath.Join(root, "depot/linked.go")); err != nil {
		t.Skip(err)
	}
	l := open(t, settings(), inFolder(root))
	if _, err := l.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	var msgs []string
	for i, p := range []string{filepath.Join(outside, "secret.go"), "../" + filepath.Base(outside) + "/secret.go", "depot/linked.go"} {
		msgs = append(msgs, object("role", "user", "content", "Write it."))
		msgs = append(msgs, calledTool(fmt.Sprint("c", i), "Write", map[string]string{"file_path": p, "content": "x"})...)
	}
	msgs = append(msgs, object("role", "user", "content", "What is `OuterThing` in depot/linked.go and "+outside+"/secret.go?"))
	assertLacks(t, post(t, l, chatBody(msgs)), "nobody's business")
	for p := range l.Operator().Codebase().View().Hashes() {
		if strings.Contains(p, "secret") || strings.Contains(p, "linked") {
			t.Errorf("%s is in the graph", p)
		}
	}
}

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

// assertContains fails the test unless every text of want is in text.
func assertContains(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

func assertLacks(t testing.TB, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			t.Errorf("%q is in\n%s", w, text)
		}
	}
}

func high(c *config.Config) { c.Retrieval.Weight = ken.WeightHigh }
