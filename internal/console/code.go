package console

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/repository"
)

// codePerPage is how many symbols a search shows at once, mostProblems how many places
// that could not be read, and mostBegin how many symbols a walk can begin with.
const (
	codePerPage  = 50
	mostProblems = 100
	mostBegin    = 12
)

// reading is how far the code was read, on a page that does not wait for it.
type reading struct {
	Being bool                // it is still being read
	Empty bool                // and nothing was kept of it from before
	So    repository.Progress // zero before it began
}

// codeBody is what there is of the code, and what a search in it found.
type codeBody struct {
	Reading  reading
	Query    codebase.Query
	Kind     string
	Kinds    []choice
	Counts   codegraph.Counts
	Found    codebase.Found
	Next     string
	Begin    []codegraph.Node // what most of the code leads to
	Problems []codegraph.FileProblem
	Unread   int // places that could not be read
}

// nodeKinds are the kinds of nodes, in the order in which a page offers them.
var nodeKinds = []codegraph.Kind{codegraph.KindFunction, codegraph.KindMethod, codegraph.KindType, codegraph.KindInterface, codegraph.KindVariable,
	codegraph.KindProperty, codegraph.KindPackage, codegraph.KindNamespace, codegraph.KindFile, codegraph.KindDecision}

// kindNames are what people call kinds that have another name in the graph.
var kindNames = map[codegraph.Kind]string{codegraph.KindDecision: "decision"}

func kindName(k codegraph.Kind) string {
	if n, ok := kindNames[k]; ok {
		return n
	}
	return string(k)
}

// code is the project's code as it was read so far. A page waits for nobody who reads
// it. The files are those of the configured owner: others get nothing of them.
func (v *visit) code() (*codebase.Codebase, reading, error) {
	if !v.ownsFiles() {
		return nil, reading{}, errNotTheirs
	}
	so, read := v.con.l.CodeRead()
	base := v.con.l.Codebase()
	if base == nil {
		_, err := v.con.l.ReadCode(v.ctx()) // says why, at once
		return nil, reading{}, err
	}
	r := reading{Being: !read, So: so}
	r.Empty = r.Being && base.View().Counts().Nodes == 0
	return base, r, nil
}

func codePage(v *visit) error {
	base, so, err := v.code()
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	b := codeBody{Reading: so, Kind: q.Get("kind"), Query: codebase.Query{Words: strings.TrimSpace(q.Get("q")), Path: strings.TrimSpace(q.Get("path")),
		Exported: q.Get("exported") != "", NoTests: q.Get("tests") == "no"}}
	for _, k := range nodeKinds {
		b.Kinds = append(b.Kinds, choice{Name: kindName(k), Value: string(k), Here: b.Kind == string(k)})
		if b.Kind == string(k) {
			b.Query.Kinds = []codegraph.Kind{k}
		}
	}
	view := base.View()
	b.Counts = view.Counts()
	b.Problems, b.Unread = view.Problems(mostProblems)
	if b.Query.Words == "" {
		b.Begin = view.Beginning("", mostBegin)
	} else {
		from := v.number("before", 0, 0, codegraph.MaxLimit)
		b.Found = codebase.Search(view, b.Query, codegraph.Page{Offset: from, Limit: codePerPage})
		if n := from + len(b.Found.Results); len(b.Found.Results) > 0 && n < min(b.Found.Total, codegraph.MaxLimit) {
			b.Next = with(v.r.URL, "before", strconv.Itoa(n))
		}
	}
	return v.page("code", page{Title: "Code", Section: secStructure, Tab: "Code", Live: []string{liveCode}, Body: b})
}

// codeState names what a page about the code shows, for who follows it.
func (v *visit) codeState() string {
	base, so, err := v.code()
	if err != nil {
		return ""
	}
	return strings.Join([]string{strconv.FormatUint(base.View().Version(), 10), strconv.FormatBool(so.Being), strconv.Itoa(so.So.Done)}, " ")
}

// symbolName is a node's name with its package or type, as people who know the project
// say it; a file's and a package's are whole.
func symbolName(n codegraph.Node) string {
	if n.Kind == codegraph.KindFile || n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace {
		return n.Qualified
	}
	return n.Qualified[strings.LastIndexByte(n.Qualified, '/')+1:]
}

// symbolPath is the page of a node, with what the address of this one says of drawing.
func symbolPath(id string, depth int) string {
	p := pathOf("code", "symbol") + "?id=" + escapeQuery(id)
	if depth > 1 {
		p += "&depth=" + strconv.Itoa(depth)
	}
	return p
}
