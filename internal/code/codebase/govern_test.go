package codebase_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
)

// The targets of a decision follow its file, until another decision supersedes it.
func TestDecisionsGovern(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	const amount = "type:example.com/shop/money.Amount"
	has(t, c.View(), "adr:ADR-0001", codegraph.Governs, amount)

	// After a write through the registry, Govern updates the graph.
	_, now, err := c.Decisions().SupersedeBy(t.Context(), "ADR-0001", decision.Draft{Title: "Amounts are decimals", Decision: "A decimal type.",
		Governs: []string{"cart.Cart", "web/lib/**", "no.such.Thing"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Govern(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.View()
	hasNot(t, v, "adr:ADR-0001", codegraph.Governs, amount)
	has(t, v, "adr:"+now.Handle, codegraph.Governs, "type:example.com/shop/cart.Cart")
	if shown, err := v.Show("cart.Cart"); err != nil || len(shown.Governed) != 1 || shown.Governed[0].From.Signature != "Amounts are decimals" {
		t.Errorf("shown %+v, %v", shown.Governed, err)
	}

	// Edited by hand, with the file's update.
	path := now.Path
	write(t, root, map[string]string{path: "---\nid: " + now.ID.Text + "\nstatus: accepted\ngoverns: [money/]\n---\n\n# Amounts are decimals\n\n## Decision Outcome\n\nA decimal type.\n"})
	update(t, c, path)
	hasNot(t, c.View(), "adr:"+now.Handle, codegraph.Governs, "type:example.com/shop/cart.Cart")
	has(t, c.View(), "adr:"+now.Handle, codegraph.Governs, "package:example.com/shop/money")

	// A rename of what it governs leads nowhere, and back.
	if err := os.Rename(filepath.Join(root, "money"), filepath.Join(root, "cash")); err != nil {
		t.Fatal(err)
	}
	update(t, c, "money", "cash")
	if shown, err := c.View().Show("adr:" + now.Handle); err != nil || len(shown.To) != 0 {
		t.Errorf("governs %+v, %v", shown.To, err)
	}
	if err := os.Remove(filepath.Join(root, filepath.FromSlash(path))); err != nil {
		t.Fatal(err)
	}
	update(t, c, path)
	if _, err := c.View().One("adr:" + now.Handle); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("of a file that is gone: %v", err)
	}
}

// After Load, the present decisions are used.
func TestDecisionsAreReadAfterLoad(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"docs/adr/0002-carts.md": "# ADR-0002: Carts are small\n\n## Status\n\nAccepted\n\n## Decision\n\nAt most ten lines in `cart.Cart`.\n"})
	next := open(t, root)
	if err := next.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := next.Govern(t.Context()); err != nil {
		t.Fatal(err)
	}
	has(t, next.View(), "adr:ADR-0002", codegraph.Governs, "type:example.com/shop/cart.Cart")
	refs, err := next.View().Refs("cart.Cart", []codegraph.EdgeKind{codegraph.Governs}, codegraph.Page{})
	if err != nil || len(refs.Refs) != 1 || refs.Refs[0].How != codegraph.Guess {
		t.Errorf("named in the text: %+v, %v", refs.Refs, err)
	}
}

func TestPrune(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	if p, err := c.Prune(t.Context(), true); err != nil || len(p.Files) != 0 {
		t.Errorf("nothing is gone: %+v, %v", p, err)
	}
	if err := os.RemoveAll(filepath.Join(root, "web")); err != nil {
		t.Fatal(err)
	}
	dry, err := c.Prune(t.Context(), false)
	if err != nil || len(dry.Files) != 4 {
		t.Errorf("dry: %+v, %v", dry, err)
	}
	if _, err := c.View().One("web/app.render"); err != nil {
		t.Errorf("a dry run has changed the graph: %v", err)
	}
	if did, err := c.Prune(t.Context(), true); err != nil || !reflect.DeepEqual(did, dry) {
		t.Errorf("%+v, and said before %+v, %v", did, dry, err)
	}
	if _, err := c.View().One("web/app.render"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
}
