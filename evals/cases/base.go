package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// prepare makes the base once: a state folder with the copies of the live store
// or the claims of the export, and the project's files as they are now.
func (r *runner) prepare(ctx context.Context) error {
	if r.base != "" || r.o.State == "" && r.o.Export == "" {
		return nil
	}
	state := filepath.Join(r.tmp, "base")
	if r.o.State != "" {
		for _, owner := range r.owners {
			if err := snapshot(ctx, r.o.State, owner, state); err != nil {
				return err
			}
		}
	}
	l, err := r.open(ctx, state, r.o.Root, r.o.Now)
	if err != nil {
		return err
	}
	if r.o.Export != "" {
		err = r.load(ctx, l)
	}
	if err == nil {
		for _, owner := range r.owners {
			r.lacking = append(r.lacking, refresh(ctx, l, owner)...)
		}
		err = ctx.Err()
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	r.base = state
	return nil
}

// open opens a layer on a state folder of the run's own. root "" is no project.
func (r *runner) open(ctx context.Context, state, root string, now clock, change ...func(*middleware.Options)) (*middleware.Layer, error) {
	cfg := r.cfg
	cfg.Knowledge.DBPath = state
	if root == "" {
		root, cfg.Repository.Index = r.tmp, false
	}
	o := middleware.Options{Root: root, Config: &cfg, Embedder: r.o.Embedder, Strict: true, Foreground: true,
		Log: r.o.Log, Progress: r.o.Progress, Now: now}
	for _, f := range change {
		f(&o)
	}
	return middleware.Open(ctx, o)
}

// refresh brings the project's files and the vectors up to date, as far as that
// goes: a turn goes on with what there is, and the note says so.
func refresh(ctx context.Context, l *middleware.Layer, owner string) (notes []string) {
	if _, err := l.Refresh(ctx, owner); err != nil && ctx.Err() == nil {
		notes = append(notes, fmt.Sprintf("not everything of %s is searchable: %v", owner, err))
	}
	return notes
}

// unseen are patterns that keep the files of the cases, and the export, out of the
// project's index: they hold questions and answers word for word, and a case that
// finds its own file would prove nothing.
func unseen(root string, files []string) (patterns []string) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil
	}
	for _, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			patterns = append(patterns, "/"+literal.Replace(filepath.ToSlash(rel)))
		}
	}
	return patterns
}

// literal escapes what means something in a pattern of .gitignore.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// batch is how many claims go into one transaction.
const batch = 1000

// load writes the export's claims to the owners that they name. A line that can't
// be read or written ends it: a test on half of the knowledge would mislead.
func (r *runner) load(ctx context.Context, l *middleware.Layer) error {
	f, err := os.Open(r.o.Export)
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "read export", Err: err, Try: "Check the path; ken export --out FILE writes one."}
	}
	defer f.Close()
	pending := map[string][]store.Incoming{}
	n := 0
	for line := range jsonl.Read(f, filepath.Base(r.o.Export)) {
		if err := errors.Join(line.Err, ctx.Err()); err != nil {
			return fmt.Errorf("%s, line %d: %w", r.o.Export, line.N, err)
		}
		owner := r.owner(line.Claim.Owner)
		line.Claim.Owner = owner
		if !slices.Contains(r.owners, owner) {
			r.owners = append(r.owners, owner)
		}
		pending[owner] = append(pending[owner], store.Incoming{Claim: line.Claim, Prior: line.History})
		if len(pending[owner]) == batch {
			if err := write(ctx, l, owner, pending[owner]); err != nil {
				return fmt.Errorf("%s: %w", r.o.Export, err)
			}
			delete(pending, owner)
		}
		n++
		r.o.Progress("import", n, 0)
	}
	for owner, in := range pending {
		if err := write(ctx, l, owner, in); err != nil {
			return fmt.Errorf("%s: %w", r.o.Export, err)
		}
	}
	return nil
}

func write(ctx context.Context, l *middleware.Layer, owner string, in []store.Incoming) error {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	for _, o := range s.Import(ctx, in) {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}
