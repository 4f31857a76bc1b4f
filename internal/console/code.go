package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/store"
)

// codePerPage is how many symbols a search shows at once, maxProblems how many
// unreadable files, and maxBegin how many starting points of a walk.
const (
	codePerPage = 50
	maxProblems = 100
	maxBegin    = 12
)

// codeProgress says how much of the code has been read.
type codeProgress struct {
	Running  bool                // it is still being read
	Empty    bool                // and no earlier state is available
	Progress repository.Progress // zero before it began
}

// codeBody holds the counts of the code, and the results of a search.
type codeBody struct {
	Reading  codeProgress
	Query    codebase.Query
	Kind     string
	Kinds    []choice
	Counts   codegraph.Counts
	Found    codebase.Found
	Next     string
	Begin    []codegraph.Node // the nodes with the most dependents
	Problems []codegraph.FileProblem
	Unread   int // files that could not be read
}

// nodeKinds lists the kinds of nodes, in the order of the page.
var nodeKinds = []codegraph.Kind{codegraph.KindFunction, codegraph.KindMethod, codegraph.KindType, codegraph.KindInterface, codegraph.KindVariable,
	codegraph.KindProperty, codegraph.KindPackage, codegraph.KindNamespace, codegraph.KindFile, codegraph.KindDecision}

func kindName(k codegraph.Kind) string {
	if k == codegraph.KindDecision {
		return "decision"
	}
	return string(k)
}

// code returns the project's code as far as it has been read, without waiting for the
// reading. The files belong to the configured owner; other owners get an error.
func (v *visit) code() (*codebase.Codebase, codeProgress, error) {
	if !v.ownsFiles() {
		return nil, codeProgress{}, errNotOwner
	}
	reading, read := v.con.layer.Operator().CodeRead()
	base := v.con.layer.Operator().Codebase()
	if base == nil {
		_, err := v.con.layer.Operator().ReadCode(v.ctx()) // it returns the reason immediately
		return nil, codeProgress{}, err
	}
	r := codeProgress{Running: !read, Progress: reading}
	r.Empty = r.Running && base.View().Counts().Nodes == 0
	return base, r, nil
}

func codePage(v *visit) error {
	base, reading, err := v.code()
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	b := codeBody{Reading: reading, Kind: q.Get("kind"), Query: codebase.Query{Words: strings.TrimSpace(q.Get("q")), Path: strings.TrimSpace(q.Get("path")),
		Exported: q.Get("exported") != "", NoTests: q.Get("tests") == "no"}}
	for _, k := range nodeKinds {
		b.Kinds = append(b.Kinds, choice{Name: kindName(k), Value: string(k), Here: b.Kind == string(k)})
		if b.Kind == string(k) {
			b.Query.Kinds = []codegraph.Kind{k}
		}
	}
	view := base.View()
	b.Counts = view.Counts()
	b.Problems, b.Unread = view.Problems(maxProblems)
	if b.Query.Words == "" {
		b.Begin = view.Beginning("", maxBegin)
	} else {
		from := v.intParam("before", 0, 0, codegraph.MaxLimit)
		b.Found = codebase.Search(view, b.Query, codegraph.Page{Offset: from, Limit: codePerPage})
		if n := from + len(b.Found.Results); len(b.Found.Results) > 0 && n < min(b.Found.Total, codegraph.MaxLimit) {
			b.Next = withParam(v.r.URL, "before", strconv.Itoa(n))
		}
	}
	return v.page("code", page{Title: "Code", Section: secStructure, Tab: "Code", Live: []string{liveCode}, Body: b})
}

// codeState returns a value that changes when the pages about the code change, for live
// updates.
func (v *visit) codeState() string {
	base, reading, err := v.code()
	if err != nil {
		return ""
	}
	return strings.Join([]string{strconv.FormatUint(base.View().Version(), 10), strconv.FormatBool(reading.Running), strconv.Itoa(reading.Progress.Done)}, " ")
}

// symbolName returns a node's name with its package or type, as developers write it.
// Names of files and packages are complete.
func symbolName(n codegraph.Node) string {
	if n.Kind == codegraph.KindFile || n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace {
		return n.Qualified
	}
	return n.Qualified[strings.LastIndexByte(n.Qualified, '/')+1:]
}

// symbolPath returns the path of a node's page, with the depth of its picture.
func symbolPath(id string, depth int) string {
	p := pathOf("code", "symbol") + "?id=" + escapeQuery(id)
	if depth > 1 {
		p += "&depth=" + strconv.Itoa(depth)
	}
	return p
}

// Limits of a symbol's page: references at once, dependents and their distance,
// members, claims, and nodes of the picture.
const (
	refsPerPage    = 40
	maxDependents  = 120
	dependentSteps = 3
	maxMembers     = 40
	maxAbout       = 8
	maxPictured    = 14 // in each step
	deepestPicture = 3
)

type symbolBody struct {
	Reading    codeProgress
	Symbol     codegraph.NodeDetails
	Says       string // a short description
	Excerpts   []excerpt
	Members    []codegraph.Node
	MembersOut int // members not listed
	Refs       []refRow
	RefKinds   []refKind
	RefNext    string
	Out        []outRow
	Decisions  []governing
	Rings      []dependentRing
	Dependents codegraph.Dependents
	Claims     []row
	ClaimsMore bool
	Asked      string // a query that finds more of them
	Around     neighbourhood
}

type governing struct {
	ID, Title string
	Guess     bool
}

// dependentRing holds the dependents at one distance from a symbol.
type dependentRing struct {
	Steps int
	Nodes []codegraph.Dependent
}

func symbolPage(v *visit) error {
	base, reading, err := v.code()
	if err != nil {
		return err
	}
	view, id := base.View(), v.param("id")
	b := symbolBody{Reading: reading}
	b.Symbol, err = view.Show(id)
	switch {
	case err != nil && reading.Running: // it may be in a file that was not read yet
		b.Symbol.Name = id
		return v.page("code_symbol", page{Title: "Code", Section: secStructure, Tab: "Code", Live: []string{liveCode}, Body: b})
	case errors.Is(err, ken.ErrInvalid) && id != "": // the name is ambiguous
		return v.redirect(pathOf("code") + "?q=" + escapeQuery(id))
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
	b.Members = s.Members[:min(len(s.Members), maxMembers)]
	b.MembersOut = s.MemberAll - len(b.Members)
	b.Decisions = mapped(s.Governed, func(r *codegraph.Ref) governing { // it, its file or its package
		return governing{ID: r.From.Name, Title: r.From.Signature, Guess: r.How == codegraph.Guess}
	})
	from := v.intParam("before", 0, 0, codegraph.MaxOffset)
	var refs codegraph.Refs
	if len(s.In) > 0 {
		if refs, err = view.Refs(s.ID, wantedEdges(v.param("kind"), s.In), codegraph.Page{Offset: from, Limit: refsPerPage}); err != nil {
			return err
		}
	}
	if n := from + len(refs.Refs); len(refs.Refs) > 0 && n < refs.Total {
		b.RefNext = withParam(v.r.URL, "before", strconv.Itoa(n)) + "#refs"
	}
	b.Refs = mapped(refs.Refs, func(r *codegraph.Ref) refRow { return refRow{*r, edgeLabels[r.Kind].in} })
	b.Out = mapped(s.Out, func(k *codegraph.KindCount) outRow { return outRow{*k, edgeLabels[k.Kind].out} })
	b.RefKinds = v.refKinds(s.In)
	if b.Dependents, err = view.Dependents(s.ID, dependentSteps, codegraph.Page{Limit: maxDependents}); err != nil {
		return err
	}
	for _, d := range b.Dependents.Dependents {
		if n := len(b.Rings); n == 0 || b.Rings[n-1].Steps != d.Depth {
			b.Rings = append(b.Rings, dependentRing{Steps: d.Depth})
		}
		last := &b.Rings[len(b.Rings)-1]
		last.Nodes = append(last.Nodes, d)
	}
	if b.Around, err = v.symbolGraph(view, s); err != nil {
		return err
	}
	return v.withStore(func(st store.Engine) error { return v.claimsAbout(st, b) })
}

func describeNode(s *codegraph.NodeDetails) string {
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

// claimsAbout finds the claims about a symbol: those that name it, or have it as
// evidence.
func (v *visit) claimsAbout(s store.Engine, b *symbolBody) error {
	names := v.con.layer.Operator().CodeNames(&b.Symbol.Node)
	if len(names) == 0 {
		return nil
	}
	b.Asked = names[0]
	found, err := provenance.Of(v.ctx(), s, provenance.Query{Target: names[0], Names: names[1:], Limit: 4 * maxAbout},
		provenance.Options{Now: v.con.opts.Now, DecayDays: v.con.layer.Config().Knowledge.DecayDays})
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(found.Claims))
	for i := range found.Claims {
		if c := &found.Claims[i]; !c.Kind.Structural() { // structural claims say little about the code
			ids = append(ids, c.ID)
		}
	}
	b.ClaimsMore = len(ids) > maxAbout || len(found.Claims) < found.Total
	ids = ids[:min(len(ids), maxAbout)]
	b.Claims, err = v.readRows(s, ids)
	return err
}

// symbolGraph draws the neighbourhood of a node, up to the depth in the address.
func (v *visit) symbolGraph(view *codegraph.View, s *codegraph.NodeDetails) (neighbourhood, error) {
	depth := v.intParam("depth", 1, 1, deepestPicture)
	p, err := view.Picture(s.ID, depth, depth*maxPictured)
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
		d.Edges = append(d.Edges, chart.Edge{From: e.Source, To: e.Target, Label: words(e.Kind), Weight: e.Strength, Dashed: e.Strength < exactEdge})
	}
	return v.drawGraph(&d, depth, deepestPicture, p.Left), nil
}

// exactEdge separates the strengths of edges in a picture: an exact edge is above, a
// guess below. See codegraph.PictureEdge.
const exactEdge = 0.5

// edgeLabels gives the names of an edge of each kind, as seen from its target (in) and
// from its source (out).
var edgeLabels = map[codegraph.EdgeKind]struct{ in, out string }{
	codegraph.Defines: {"defines it", "Defines"}, codegraph.Imports: {"imports it", "Imports"}, codegraph.Inherits: {"inherits from it", "Inherits from"},
	codegraph.Implements: {"implements it", "Implements"}, codegraph.References: {"refers to it", "Refers to"}, codegraph.Calls: {"calls it", "Calls"},
	codegraph.Tests: {"tests it", "Tests"}, codegraph.DependsOn: {"depends on it", "Depends on"}, codegraph.Governs: {"governs it", "Governs"},
}

type refRow struct {
	codegraph.Ref
	Says string
}

// outRow is the number of edges of a kind from a symbol to others.
type outRow struct {
	codegraph.KindCount
	Says string
}

// refKind is a kind of references to a symbol, with a link that filters by it.
type refKind struct {
	choice
	Count int
}

func (v *visit) refKinds(counts []codegraph.KindCount) (out []refKind) {
	chosen := v.param("kind")
	for _, k := range counts {
		here := chosen == string(k.Kind)
		path := withParam(v.r.URL, "kind", string(k.Kind))
		if here {
			path = withoutParam(v, "kind")
		}
		out = append(out, refKind{choice{Name: edgeLabels[k.Kind].in, Path: path + "#refs", Here: here}, k.Exact + k.Guesses})
	}
	return out
}

// wantedEdges returns the kinds that a list shows: the one that the address names, or
// all except declarations, which the page shows elsewhere.
func wantedEdges(name string, counts []codegraph.KindCount) (out []codegraph.EdgeKind) {
	for _, c := range counts {
		if string(c.Kind) == name {
			return []codegraph.EdgeKind{c.Kind}
		}
		out = append(out, c.Kind)
	}
	return out
}

// Limits of an excerpt: places, lines of each, and code points of a line. Larger files
// are not read.
const (
	maxPlaces     = 3
	maxLines      = 60
	widestLine    = 400
	maxSourceFile = 2 << 20 // bytes
)

// excerpt is a place of a declaration with its lines.
type excerpt struct {
	codegraph.Place
	Lines []sourceLine
	More  int    // lines not shown
	Why   string // why there are no lines
}

type sourceLine struct {
	N    int // from 1
	Text string
}

// excerpts reads declarations from their files. It only shows a file whose content is
// the one that the graph was built from, because lines of another version would be
// wrong.
func (v *visit) excerpts(view *codegraph.View, places []codegraph.Place) []excerpt {
	out := mapped(places, func(p *codegraph.Place) excerpt { return excerpt{Place: *p} })
	root, err := projectfile.Open(v.con.layer.Root())
	if err != nil {
		v.con.opts.Log.Warn("show source", "cause", err)
		return out
	}
	defer root.Close() // it was only read
	shown := 0
	for i := range out {
		if shown == maxPlaces {
			break
		}
		if out[i].Line > 0 {
			shown++
			out[i].read(root, view)
		}
	}
	return out
}

// read reads the lines from the file. It removes credentials, because a visitor who may
// read the knowledge may not be allowed to read the repository.
func (e *excerpt) read(root *projectfile.Folder, view *codegraph.View) {
	f, err := root.Read(e.Path, maxSourceFile)
	if err != nil {
		e.Why = "The file can’t be read."
		return
	}
	if f.Hash != view.Hash(e.Path) {
		e.Why = "The file has changed since it was read: its lines are shown once it was read again."
		return
	}
	lines := strings.Split(string(f.Bytes), "\n")
	from, to := e.Line, max(e.End, e.Line)
	if from > len(lines) {
		e.Why = "The file has no such line."
		return
	}
	to = min(to, len(lines))
	if n := to - from + 1 - maxLines; n > 0 {
		e.More, to = n, to-n
	}
	text, _ := guardrail.Redact(strings.Join(lines[from-1:to], "\n"))
	for i, line := range strings.Split(text, "\n") {
		e.Lines = append(e.Lines, sourceLine{from + i, clipLine(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    "))})
	}
}

// clipLine shortens a long line and marks the cut.
func clipLine(s string) string {
	if len(s) <= widestLine {
		return s
	}
	if r := []rune(s[:min(len(s), 4*widestLine)]); len(r) > widestLine {
		return string(r[:widestLine]) + "…"
	}
	return s
}
