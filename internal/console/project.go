package console

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

// errNotTheirs is what a visitor is told who is another owner than the project's. It is
// the same for what is there and for what is not.
var errNotTheirs error = &ken.Error{Code: ken.CodeRefused, Msg: "the files of this project are not those of this owner",
	Try: "Look at the claims: they are what this owner's agents know."}

// ownsFiles reports whether the project's files are the visitor's owner's: those of the
// one that is configured, and nobody else's, as turns and tools have it.
func (v *visit) ownsFiles() bool { return v.con.l.RootOf(v.owner()) != "" }

// fileEvidence is a file that a claim is to rest on: one of the project with its hash, so
// that it shows when it has changed. Another owner's is a name alone.
func (v *visit) fileEvidence(path string) (ken.Evidence, error) {
	if !v.ownsFiles() {
		return ken.FromFile(path, "", ""), nil
	}
	e, err := provenance.Evidence(v.con.l.Root(), path)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "file"
	}
	return e, err
}

// decisions are the project's, as their files are now.
func (v *visit) decisions() (*decision.Registry, error) {
	if !v.ownsFiles() {
		return nil, errNotTheirs
	}
	base := v.con.l.Codebase()
	if base == nil {
		_, err := v.con.l.ReadCode(v.ctx()) // which says why
		return nil, err
	}
	r := base.Decisions()
	changed, err := r.Refresh(v.ctx())
	if len(changed.Added)+len(changed.Changed)+len(changed.Removed) > 0 {
		v.con.govern()
	}
	return r, err
}

// govern has the graph hear of decisions that have changed. It may have to wait until
// the code was read, which a page does not.
func (c *Console) govern() {
	c.running.Go(func() {
		if err := c.l.Codebase().Govern(c.stop); err != nil && c.stop.Err() == nil {
			c.o.Log.Warn("tell the code graph of decisions", "cause", err, "try", ken.Hint(err))
		}
	})
}

// objectives are the project's.
func (v *visit) objectives() (*objective.Store, error) {
	if !v.ownsFiles() {
		return nil, errNotTheirs
	}
	if s := v.con.l.Objectives(); s != nil {
		return s, nil
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.objectives", Msg: "objectives are switched off, or could not be opened",
		Try: "Set middleware.objectives to true, and look at ken doctor."}
}

// fileProblem is something in a file of the project that somebody should look at.
type fileProblem struct {
	File, Path string // from the root, and of the page that shows it
	Line       int    // from 1; 0 for the whole file
	Text, Try  string
}

func problemIn(file string, line int, text, try string) fileProblem {
	return fileProblem{File: file, Path: filePath(file), Line: line, Text: text, Try: try}
}

// filePath is the page of a file.
func filePath(file string) string { return pathOf("files") + "?path=" + escapeQuery(file) }

// namedPath leads to what a name stands for in the code: a file, a folder's package or a
// declaration. It is "" where that is nothing, or several things.
func (v *visit) namedPath(name string) string {
	base := v.con.l.Codebase()
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

// projectState names what the project's decisions, objectives and layers are, for who
// follows their pages.
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
		list, _, _ := s.List(v.ctx()) // the page says what can't be read
		for i := range list {
			fmt.Fprintln(sum, list[i].Path, list[i].Hash)
		}
	}
	return fmt.Sprint(sum.Sum64(), v.con.stampOf(drift.DefaultManifest), v.con.stampOf(drift.DefaultBaseline))
}
