package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// prepare creates the base once: a state folder with a copy of the live store or the
// claims of the export, and an index of the project's current files.
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

// open opens a layer on a state folder of the run. root "" means no project.
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

// refresh updates the index of the project's files and the vectors. An error doesn't
// end the run: the turn uses what there is, and a note says so.
func refresh(ctx context.Context, l *middleware.Layer, owner string) (notes []string) {
	if _, err := l.Refresh(ctx, owner); err != nil && ctx.Err() == nil {
		notes = append(notes, fmt.Sprintf("not everything of %s is searchable: %v", owner, err))
	}
	return notes
}

// excludePatterns returns patterns that exclude the files of the cases, and the export, from the
// project's index. These files contain the questions and answers word for word, so a
// case that finds its own file would prove nothing.
func excludePatterns(root string, files []string) (patterns []string) {
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

// literal escapes the special characters of a .gitignore pattern.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// batch is the number of claims in a transaction.
const batch = 1000

// load writes the export's claims to the owners that they name. A line that can't be
// read or written is an error: a test with a part of the knowledge would be misleading.
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

type clock = func() time.Time

// fixture is the layer that a case runs on. Cases with the same knowledge at the same
// time share one, since a turn writes nothing.
type fixture struct {
	key   string // identifies the knowledge and the time
	layer *middleware.Layer
	now   clock
	notes []string
	seen  *middleware.State // of the last turn that ran through the chain

	exported map[string]string // owner, 0, canary → where the export contains it; "" if it does not
	had      map[string]string // owner, 0, matcher → the owner who has such a claim; see somewhere
}

// fixture returns the fixture of the case before, or creates another.
func (r *runner) fixture(ctx context.Context, c *Case) (*fixture, error) {
	onBase := (r.o.State != "" || r.o.Export != "") && (!c.Alone || !r.o.GivenAlone)
	key, err := json.Marshal([]any{onBase, c.Now, c.Given})
	if err != nil {
		return nil, err
	}
	if r.current != nil && r.current.key == string(key) {
		return r.current, nil
	}
	if r.current != nil {
		if err := r.current.layer.Close(); err != nil {
			return nil, err
		}
		r.current = nil
	}
	r.made++
	f := &fixture{key: string(key), now: r.o.Now, exported: map[string]string{}, had: map[string]string{}}
	if !c.Now.IsZero() {
		f.now = func() time.Time { return c.Now }
	}
	state := filepath.Join(r.tmp, "state"+strconv.Itoa(r.made))
	root := ""
	if onBase {
		if err := r.prepare(ctx); err != nil {
			return nil, err
		}
		if err := copyFolder(ctx, r.base, state); err != nil {
			return nil, err
		}
		root, f.notes = r.o.Root, slices.Clone(r.lacking)
	}
	f.layer, err = r.open(ctx, state, root, f.now, func(o *middleware.Options) { o.Use = []middleware.Middleware{f.watch} })
	if err != nil {
		return nil, err
	}
	if err := r.give(ctx, f, c); err != nil {
		return nil, errors.Join(err, f.layer.Close())
	}
	r.current = f
	return f, nil
}

// watch records the state of a turn.
func (f *fixture) watch(next middleware.Handler) middleware.Handler {
	return func(ctx context.Context, st *middleware.State) error {
		err := next(ctx, st)
		f.seen = st
		return err
	}
}

// give writes the case's given claims. Ids are derived from their position, so that a
// case gives the same result each time.
func (r *runner) give(ctx context.Context, f *fixture, c *Case) error {
	touched := map[string]bool{}
	for i, g := range c.Given {
		claim := engine.Clone(&g.Claim)
		claim.Owner = r.owner(claim.Owner)
		touched[claim.Owner] = true
		if claim.ID == "" {
			claim.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d %s", claim.Owner, i, claim.Text)).String()
		}
		err := write(ctx, f.layer, claim.Owner, []store.Incoming{{Claim: claim}})
		switch {
		case errors.Is(err, ken.ErrRefused): // a refusal may be what the case tests
			f.notes = append(f.notes, fmt.Sprintf("the given claim in line %d was not kept: %v", g.Line, err))
		case err != nil:
			return fmt.Errorf("given in line %d: %w", g.Line, err)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(touched)) {
		f.notes = append(f.notes, refresh(ctx, f.layer, owner)...)
	}
	return ctx.Err()
}

// snapshot copies an owner's folder of a live store. It holds the store's lock, shared,
// meanwhile, so that nothing is written; the store itself is not changed. If another
// process has the store open, that process makes the copy. An owner without a folder
// has no claims, and nothing is copied. Errors: ErrHeld when the process that holds the
// store does not respond.
func snapshot(ctx context.Context, state, owner, to string) (err error) {
	from := filepath.Join(state, bolt.FolderName(owner))
	const log = "ken.db" // the only file of the folder that a store locks
	switch fi, err := os.Stat(filepath.Join(from, log)); {
	case errors.Is(err, fs.ErrNotExist), err == nil && fi.Size() == 0:
		return nil
	case err != nil:
		return fmt.Errorf("copy store: %w", err)
	}
	var db *bbolt.DB
	for range 10 { // the process that holds it may be about to end
		db, err = bbolt.Open(filepath.Join(from, log), 0o600, &bbolt.Options{ReadOnly: true, Timeout: 500 * time.Millisecond})
		if !errors.Is(err, bolterrors.ErrTimeout) {
			break
		}
		held := askFor(ctx, from, owner, filepath.Join(to, bolt.FolderName(owner)))
		if _, lost := remote.Lost(held); !lost || ctx.Err() != nil {
			return held
		}
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return bolt.HeldError(from)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "copy store " + from, Err: err, Try: "See ken doctor."}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return copyFolder(ctx, from, filepath.Join(to, bolt.FolderName(owner)))
}

// askFor asks the process that holds a store to copy it.
func askFor(ctx context.Context, from, owner, to string) error {
	h := bolt.ReadHolder(from)
	if h.Address == "" {
		return &ken.Error{Code: ken.CodeHeld, Msg: from + " is held by another process, which serves nobody",
			Try: "Wait for it to end, or test an export: ken export --out claims.jsonl, then --export claims.jsonl."}
	}
	c, err := remote.Dial(ctx, h.Network, h.Address, remote.Options{Owner: owner, Dir: from, Token: h.Token})
	if err != nil {
		return err
	}
	if err = os.MkdirAll(to, 0o700); err == nil {
		if err = c.CopyTo(ctx, to); err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}
	return errors.Join(err, c.Close())
}

// copyFolder copies files and folders. Other entries of a store's folder are only
// meaningful in place.
func copyFolder(ctx context.Context, from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
