package console

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store"
)

// errNotOwner is the error for a visitor who does not own the project's files. It is the same
// whether or not a file exists.
var errNotOwner error = &ken.Error{Code: ken.CodeRefused, Msg: "the files of this project are not those of this owner",
	Try: "Look at the claims: they are what this owner's agents know."}

// ownsFiles reports whether the project's files belong to the visitor's owner. They belong to
// the configured owner only, as in turns and tools.
func (v *visit) ownsFiles() bool { return v.con.layer.Operator().RootOf(v.owner()) != "" }

// fileEvidence returns evidence for a file. For a file of the project it includes the hash,
// which shows later changes. For other owners it is only the name.
func (v *visit) fileEvidence(path string) (ken.Evidence, error) {
	if !v.ownsFiles() {
		return ken.FromFile(path, "", ""), nil
	}
	e, err := provenance.Evidence(v.con.layer.Root(), path)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "file"
	}
	return e, err
}

// decisions returns the project's decisions, read from their files.
func (v *visit) decisions() (*decision.Registry, error) {
	if !v.ownsFiles() {
		return nil, errNotOwner
	}
	base := v.con.layer.Operator().Codebase()
	if base == nil {
		_, err := v.con.layer.Operator().ReadCode(v.ctx()) // it returns the reason
		return nil, err
	}
	r := base.Decisions()
	changed, err := r.Refresh(v.ctx())
	if len(changed.Added)+len(changed.Changed)+len(changed.Removed) > 0 {
		v.con.refreshGovernance()
	}
	return r, err
}

// refreshGovernance updates the code graph after decisions changed. It runs in the
// background, because it may have to wait until the code was read.
func (c *Console) refreshGovernance() {
	c.background.Go(func() {
		if err := c.layer.Operator().Codebase().Govern(c.stop); err != nil && c.stop.Err() == nil {
			c.opts.Log.Warn("update the decisions in the code graph", "cause", err, "try", ken.Hint(err))
		}
	})
}

func (v *visit) objectives() (*objective.Store, error) {
	if !v.ownsFiles() {
		return nil, errNotOwner
	}
	if s := v.con.layer.Operator().Objectives(); s != nil {
		return s, nil
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.objectives", Msg: "objectives are switched off, or could not be opened",
		Try: "Set middleware.objectives to true, and look at ken doctor."}
}

type fileProblem struct {
	File, Path string // relative to the root, and the page that shows it
	Line       int    // from 1; 0 for the whole file
	Text, Try  string
}

func fileProblemOf(p *decision.Problem) fileProblem {
	return fileProblem{File: p.Path, Path: filePath(p.Path), Line: p.Line, Text: p.Text, Try: p.Try}
}

func filePath(file string) string { return pathOf("files") + "?path=" + escapeQuery(file) }

// namedPath returns the page of what a name means in the code: a file, a folder's package or
// a declaration. It returns "" if the name is unknown or ambiguous.
func (v *visit) namedPath(name string) string {
	base := v.con.layer.Operator().Codebase()
	if base == nil {
		return ""
	}
	n, err := base.View().One(name)
	switch {
	case err != nil:
		return ""
	case n.Kind == codegraph.KindFile:
		return filePath(n.Path)
	}
	return symbolPath(n.ID, 1)
}

// projectState identifies the state of the project's decisions, objectives and layers, for
// live updates.
func (v *visit) projectState() string {
	if !v.ownsFiles() {
		return ""
	}
	sum := fnv.New64a()
	if reg, err := v.decisions(); err == nil {
		for _, r := range reg.List() {
			fmt.Fprintln(sum, r.Path, r.Hash)
		}
	}
	if s, err := v.objectives(); err == nil {
		list, _, _ := s.List(v.ctx()) // the page shows what can't be read
		for i := range list {
			fmt.Fprintln(sum, list[i].Path, list[i].Hash)
		}
	}
	return fmt.Sprint(sum.Sum64(), v.con.fileStamp(drift.DefaultManifest), v.con.fileStamp(drift.DefaultBaseline))
}

// filesBody holds the files that are evidence of claims.
type filesBody struct {
	Question string
	Files    []facetValue
}

// fileBody holds the data of a file's page: the claims with the file as evidence.
type fileBody struct {
	Now    time.Time
	Path   string
	View   provenance.View
	Claims []fileClaim
	Stale  int // claims on this page for which the file has changed
	Old    bool
	Next   string
}

type fileClaim struct {
	provenance.Claim
	Moved bool // the file has changed since
}

const (
	maxFiles      = 200
	claimsOfAFile = 50
)

func filesPage(v *visit) error {
	if path := strings.TrimSpace(v.param("path")); path != "" {
		return v.filePage(path)
	}
	b := filesBody{Question: strings.TrimSpace(v.param("q"))}
	err := v.withClaims(func(s store.Engine) error {
		values, err := v.con.claims.Values(s.Owner(), facet.File, b.Question, maxFiles)
		b.Files = mapped(values, func(x *facet.Value) facetValue {
			return facetValue{Label: x.Value, Count: x.Count, Path: filePath(x.Value)}
		})
		return err
	})
	if err != nil {
		return err
	}
	return v.page("files", page{Title: "Files", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}

func (v *visit) filePage(path string) error {
	b := fileBody{Now: v.now(), Path: path, Old: v.param("old") != ""}
	from := v.intParam("from", 0, 0, 1<<30)
	err := v.withStore(func(s store.Engine) (err error) {
		b.View, err = provenance.Of(v.ctx(), s, provenance.Query{Target: path, Expired: b.Old, Superseded: b.Old, Offset: from, Limit: claimsOfAFile},
			provenance.Options{Now: v.con.opts.Now, DecayDays: v.con.layer.Config().Knowledge.DecayDays, Root: v.con.layer.Operator().RootOf(v.owner())})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range b.View.Claims {
		f := fileClaim{Claim: c}
		for _, p := range c.Evidence {
			f.Moved = f.Moved || p.Matches && p.State != provenance.Stands
		}
		if f.Moved {
			b.Stale++
		}
		b.Claims = append(b.Claims, f)
	}
	if n := from + len(b.Claims); n < b.View.Total && len(b.Claims) > 0 {
		b.Next = withParam(v.r.URL, "from", strconv.Itoa(n))
	}
	return v.page("file", page{Title: "What rests on a file", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}
