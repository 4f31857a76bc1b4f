package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Bounds of what a symbol's page lists: refs at once, dependents, how far away these
// may be, members, claims, and nodes of the picture.
const (
	refsPerPage    = 40
	mostDependents = 120
	dependentSteps = 3
	mostMembers    = 40
	mostAbout      = 8
	mostPictured   = 14 // for each step
	deepestPicture = 3
)

// symbolBody is the page of something that the code declares.
type symbolBody struct {
	Reading    reading
	Symbol     codegraph.Shown
	Says       string // what it is, in a few words
	Excerpts   []excerpt
	Members    []codegraph.Node
	MembersOut int // that are not shown
	Refs       []refRow
	RefKinds   []refKind
	RefNext    string
	Out        []outRow
	Decisions  []governing
	Rings      []ring
	Dependents codegraph.Dependents
	Claims     []row
	ClaimsMore bool
	Asked      string // what finds more of them
	Around     neighbourhood
}

// governing is a decision about a symbol.
type governing struct {
	ID, Title string
	Guess     bool
}

// ring is what depends on a symbol over so many steps.
type ring struct {
	Steps int
	Nodes []codegraph.Dependent
}

func symbolPage(v *visit) error {
	base, so, err := v.code()
	if err != nil {
		return err
	}
	view, id := base.View(), v.text("id")
	b := symbolBody{Reading: so}
	b.Symbol, err = view.Show(id)
	switch {
	case err != nil && so.Being: // it may be among what was not read yet
		b.Symbol.Name = id
		return v.page("code_symbol", page{Title: "Code", Section: secStructure, Tab: "Code", Live: []string{liveCode}, Body: b})
	case errors.Is(err, ken.ErrInvalid) && id != "": // one of several
		return v.to(pathOf("code") + "?q=" + escapeQuery(id))
	case err != nil:
		return err
	}
	if err := v.fillSymbol(&b, view); err != nil {
		return err
	}
	return v.page("code_symbol", page{Title: b.Symbol.Name, Section: secStructure, Tab: "Code", Live: []string{liveCode, liveClaims}, Body: b})
}

func (v *visit) fillSymbol(b *symbolBody, view *codegraph.View) (err error) {
	s := &b.Symbol
	b.Says = describeNode(s)
	b.Excerpts = v.excerpts(view, s.Places)
	b.Members = s.Members[:min(len(s.Members), mostMembers)]
	b.MembersOut = s.MemberAll - len(b.Members)
	b.Decisions = decisionsOf(s)
	from := v.number("before", 0, 0, codegraph.MaxOffset)
	var refs codegraph.Refs
	if len(s.In) > 0 {
		if refs, err = view.Refs(s.ID, wantedEdges(v.text("kind"), s.In), codegraph.Page{Offset: from, Limit: refsPerPage}); err != nil {
			return err
		}
	}
	if n := from + len(refs.Refs); len(refs.Refs) > 0 && n < refs.Total {
		b.RefNext = with(v.r.URL, "before", strconv.Itoa(n)) + "#refs"
	}
	b.Refs, b.Out, b.RefKinds = refRows(refs.Refs), outRows(s.Out), v.refKinds(s.In)
	if b.Dependents, err = view.Dependents(s.ID, dependentSteps, codegraph.Page{Limit: mostDependents}); err != nil {
		return err
	}
	for _, d := range b.Dependents.Dependents {
		if n := len(b.Rings); n == 0 || b.Rings[n-1].Steps != d.Depth {
			b.Rings = append(b.Rings, ring{Steps: d.Depth})
		}
		last := &b.Rings[len(b.Rings)-1]
		last.Nodes = append(last.Nodes, d)
	}
	if b.Around, err = v.aroundSymbol(view, s); err != nil {
		return err
	}
	return v.withStore(func(st store.Engine) error { return v.claimsAbout(st, b) })
}

// describeNode says what a node is.
func describeNode(s *codegraph.Shown) string {
	words := []string{kindName(s.Kind)}
	for _, m := range []struct {
		is   bool
		says string
	}{{s.Exported, "exported"}, {s.External, "not in this project"}, {s.Test, "only in tests"}, {s.Generated, "generated"}, {s.HeadOnly, "only its imports are known"}} {
		if m.is {
			words = append(words, m.says)
		}
	}
	if s.Language != "" {
		words = append(words, s.Language)
	}
	return strings.Join(words, " · ")
}

// decisionsOf are the decisions that govern a symbol, its file or its package.
func decisionsOf(s *codegraph.Shown) (out []governing) {
	for _, r := range s.Governed {
		out = append(out, governing{ID: r.From.Name, Title: r.From.Signature, Guess: r.How == codegraph.Guess})
	}
	return out
}

// claimsAbout finds what the store knows of a symbol: claims that are about one of its
// names, or rest on it.
func (v *visit) claimsAbout(s store.Engine, b *symbolBody) error {
	names := middleware.CalledBy(&b.Symbol.Node)
	if len(names) == 0 {
		return nil
	}
	b.Asked = names[0]
	found, err := provenance.Of(v.ctx(), s, provenance.Query{Target: names[0], Names: names[1:], Limit: 4 * mostAbout},
		provenance.Options{Now: v.con.o.Now, DecayDays: v.con.l.Config().Knowledge.DecayDays})
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(found.Claims))
	for i := range found.Claims {
		if c := &found.Claims[i]; !c.Kind.Structural() { // what a name is, or depends on, says little of the code
			ids = append(ids, c.ID)
		}
	}
	b.ClaimsMore = len(ids) > mostAbout || len(found.Claims) < found.Total
	ids = ids[:min(len(ids), mostAbout)]
	b.Claims, err = v.rows(s, ids)
	return err
}

// aroundSymbol draws what is around a node, as far as the address asks for.
func (v *visit) aroundSymbol(view *codegraph.View, s *codegraph.Shown) (neighbourhood, error) {
	depth := v.number("depth", 1, 1, deepestPicture)
	p, err := view.Picture(s.ID, depth, depth*mostPictured)
	if err != nil {
		return neighbourhood{}, err
	}
	d := chart.GraphData{Title: "Around " + s.Name}
	for _, n := range p.Nodes {
		node := chart.Node{ID: n.ID, Label: n.Display, Kind: kindName(n.Kind), Count: n.In, Root: n.ID == p.Root,
			Info: n.ID + ", " + plural(n.In, "edge leads", "edges lead") + " to it"}
		if n.Decisions > 0 {
			node.Info += ", " + plural(n.Decisions, "decision governs", "decisions govern") + " it"
		}
		if !node.Root {
			node.Href = symbolPath(n.ID, depth)
		}
		d.Nodes = append(d.Nodes, node)
	}
	for _, e := range p.Edges {
		d.Edges = append(d.Edges, chart.Edge{From: e.Source, To: e.Target, Label: spaced(string(e.Kind)), Weight: e.Strength, Dashed: e.Strength < sureEdge})
	}
	return v.drawn(&d, depth, deepestPicture, p.Left), nil
}

// sureEdge is what the strength of an exact edge in a picture is above, and that of a
// guess below; see codegraph.PictureEdge.
const sureEdge = 0.5
