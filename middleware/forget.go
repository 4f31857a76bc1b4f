package middleware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Forgotten lists what Forget erased.
type Forgotten struct {
	Claims   []string          `json:"forgotten"`          // ids, the requested one first
	Redacted []string          `json:"redacted,omitempty"` // ids of the episodes that were rewritten without the forgotten part
	Messages int               `json:"messages,omitempty"` // number of journal messages
	Sessions []string          `json:"sessions,omitempty"` // the sessions of these messages
	Given    []forgotten.Given `json:"given,omitempty"`    // turns whose models got the claim, oldest first, as far as receipts show
	Looked   []string          `json:"looked,omitempty"`   // places that were searched and contain nothing
	Files    []string          `json:"files,omitempty"`    // the user's own files that still say it, relative to the project
	Pending  string            `json:"pending,omitempty"`  // why files still contain it; "" if none does
	Kept     []string          `json:"kept,omitempty"`     // of a forgotten session: ids of the claims that something else supports, too
	Replaced []string          `json:"replaced,omitempty"` // of a forgotten session: ids of the claims that a forgotten one had replaced; they do not stand again
}

// Forget permanently erases a claim and all text that repeats it. id is the claim's id or a unique
// part of it. Forget erases:
//   - claims that were derived from it or say the same; an episode that mentions it is rewritten
//     without that part
//   - journal messages that it came from or that repeat it, and all messages of a session that
//     was harvested
//   - injected texts and checkpoints
//   - receipts of the sessions in which it was said; other receipts keep only the id
//   - entries of the attention queue about it
//
// Running sessions of any process do not learn it again. At the end the files are rewritten, so
// that the text is no longer on the disk.
//
// Forget is for operators: no tool of an agent calls it. It stops a running harvest, which is
// retried later, and waits for harvests of other processes. If it returns an error, some text may
// remain, and Forgotten lists what was erased. The rest is erased in the background, when the store
// is next opened, or by another call with the same id. For a claim that is already erased, Forget
// returns what was erased. It returns ErrNotFound for an unknown id.
func (l *Layer) Forget(ctx context.Context, owner, id, reason string, actor ken.Actor) (Forgotten, error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return Forgotten{}, err
	}
	defer release()
	root, err := forgettableClaim(ctx, s, id)
	if errors.Is(err, ken.ErrNotFound) {
		rec, known := findForgotten(ctx, s, id)
		if known != nil || rec == nil {
			return Forgotten{}, errors.Join(known, err)
		}
		return l.resumeForget(ctx, s, rec.Claim)
	}
	if err != nil {
		return Forgotten{}, err
	}
	if id != root.ID { // a part of an id must not match another claim after the intended one is deleted
		rec, err := findForgotten(ctx, s, id)
		switch {
		case err != nil:
			return Forgotten{}, err
		case rec != nil && !slices.Contains(rec.IDs(), root.ID):
			return Forgotten{}, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: id + " is a part of the ids of " + root.ID + " and of " + rec.Claim + ", which was forgotten", Try: "Give the whole id."}
		case rec != nil && rec.Pending != nil:
			return l.resumeForget(ctx, s, rec.Claim)
		}
	}
	d := l.sessionsOf(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return Forgotten{}, err
	}
	resume, err := d.harvester.Pause(ctx)
	if err != nil {
		return Forgotten{}, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer resume()
	e := &erasure{l: l, s: s, sessions: d, matcher: matcher.New(&root), seq: s.Seq()}
	r, given, err := d.deletionScope(ctx, s, deletionScope{matcher: e.matcher, roots: []ken.Claim{root}})
	if err != nil {
		return Forgotten{}, err
	}
	switch err := e.begin(ctx, r, given, reason, actor); {
	case errors.Is(err, errInProgress):
		resume()
		return l.resumeForget(ctx, s, root.ID)
	case err != nil:
		return Forgotten{}, err
	}
	return e.run(ctx)
}

// findForgotten returns the record of a forgotten claim; nil if there is none.
func findForgotten(ctx context.Context, s store.Engine, id string) (rec *forgotten.Record, err error) {
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		rec, err = forgotten.Find(r, id)
		return err
	})
	return rec, err
}

// containsForgotten returns a function that reports whether a block of an owner's running
// conversations contains one of the claims or the forgotten text. Items from the project's files
// don't count.
func containsForgotten(owner string, ids []string, matcher *matcher.Claim) func(*turnDecision) bool {
	return func(c *turnDecision) bool {
		if c.receipt.Owner != owner {
			return false
		}
		if c.restored && matcher != nil && matcher.MatchText(c.text) { // its items have no texts
			return true
		}
		return slices.ContainsFunc(c.receipt.Items, func(it ken.Item) bool {
			ofFiles := it.Kind == ken.KindDocument || it.Kind == budgeter.KindSymbol || it.Kind == budgeter.KindObjectives || isFileDecision(&it)
			return slices.Contains(ids, it.ID) || !ofFiles && matcher != nil && matcher.MatchText(it.Text)
		})
	}
}

// forgetSessions deletes the receipts of sessions in which the claim was said, because the text
// can't be removed from their signals.
func forgetSessions(ctx context.Context, d *ownerSessions, sessions []string) error {
	for _, id := range sessions {
		if _, err := d.receipts.ForgetSession(ctx, id); err != nil {
			return fmt.Errorf("forget the receipts of session %s: %w", id, err)
		}
	}
	return nil
}

// forgetNotes removes what must be forgotten from receipts and from the attention queue.
func forgetNotes(ctx context.Context, s store.Engine, d *ownerSessions, t session.Traces) error {
	_, err := d.receipts.Forget(ctx, receipt.Traces{Claims: t.Claims, Text: t.Text})
	_, marks := attention.Forget(ctx, s.Shelf(), attention.Traces{Claims: t.Claims, Text: t.Text, Session: t.Session})
	return errors.Join(err, marks)
}

// rewriteMemoryFile rewrites MEMORY.md if it may list one of the deleted claims.
func (l *Layer) rewriteMemoryFile(ctx context.Context, owner string, gone []ken.Claim) error {
	if !l.inMemoryFile(owner, gone) {
		return nil
	}
	if _, err := l.Operator().SyncMemory(ctx, ""); err != nil {
		return fmt.Errorf("forgotten, but MEMORY.md may still contain it: %w", err)
	}
	return nil
}

// evalDir holds the question sets that ken eval generate makes from claims, and the results of
// sweeps over them. They can be generated again.
const evalDir = ".ken/eval"

// maxKnowledgeFile is the maximum size in bytes of a user's file that is searched.
const maxKnowledgeFile = 16 << 20

// eraseFiles removes the text from Ken's own files outside the store, and records the user's files
// that contain it.
func (e *erasure) eraseFiles(ctx context.Context) error {
	ids := e.record.IDs()
	says := func(line []byte) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return bytes.Contains(line, []byte(id)) }) || e.matcher.MatchAny(unescapeJSON(line))
	}
	err := walkFiles(ctx, filepath.Join(e.l.o.Root, filepath.FromSlash(evalDir)), func(path string) error { return removeLines(path, says) })
	if err != nil {
		return fmt.Errorf("erase from evaluation sets: %w", err)
	}
	return walkFiles(ctx, filepath.Join(e.l.o.Root, memoryfile.Dir), func(path string) error {
		b, err := projectfile.ReadFile(path, maxKnowledgeFile)
		if errors.Is(err, projectfile.ErrTooLarge) { // too large to be a file that people read
			return nil
		}
		if err == nil && e.matcher.MatchText(string(b)) {
			e.record.Files = union(e.record.Files, []string{relativePath(e.l.o.Root, path)})
		}
		return err
	})
}

// unescapeJSON replaces the escapes of white space, quotes, <, > and & in a line of JSON.
func unescapeJSON(line []byte) string {
	return strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(line))
}

// relativePath returns a path relative to root, with slashes.
func relativePath(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// walkFiles calls fn for every regular file below dir. A missing dir is no error.
func walkFiles(ctx context.Context, dir string, fn func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted during the walk
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// removeLines removes from a .jsonl file the lines for which says returns true. It deletes a file
// of another type that has such a line. It needs no free disk space.
func removeLines(path string, says func([]byte) bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var rest []byte
	for line := range bytes.Lines(b) {
		if !says(line) {
			rest = append(rest, line...)
		}
	}
	switch {
	case len(rest) == len(b):
		return nil
	case filepath.Ext(path) != ".jsonl":
		return os.Remove(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// Written in place, so that the text is overwritten; then the file is truncated.
	_, err = f.WriteAt(append(slices.Clone(rest), bytes.Repeat([]byte{'\n'}, len(b)-len(rest))...), 0)
	return errors.Join(err, f.Sync(), f.Truncate(int64(len(rest))), f.Close())
}

// CheckAllForgotten searches for everything that was ever forgotten. It searches by fingerprint
// every byte of the owner's files and of the project's folder .ken, free pages included, and it
// searches the claims by id. It changes nothing. Text that was said again later is found too; for
// claims it is reported separately. Texts of one or two words have no fingerprint, so they are not
// recognized, and neither are single words such as those of the keyword index. After an error no
// result is known.
func (l operator) CheckAllForgotten(ctx context.Context, owner string) ([]inspect.Check, error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	var gone *forgotten.Set
	var all []forgotten.Record
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		if gone, err = forgotten.In(r); err == nil {
			all, err = forgotten.All(r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	erased := inspect.Check{Name: "erased", Where: "the record of each forgotten claim"}
	claims := inspect.Check{Name: "claims", Where: "the table of claims, by forgotten id and by text"}
	var pending, there, again, in []string
	short := 0
	for i := range all {
		short += all[i].Short
		if all[i].Pending != nil {
			pending = append(pending, all[i].Claim)
		}
		for _, id := range all[i].IDs() {
			if s.Has(id) {
				there = append(there, id)
			}
		}
	}
	for c, err := range s.Claims(ctx) {
		if err != nil {
			return nil, err
		}
		if c.Kind != ken.KindDocument && gone.Says(c.Text) {
			again = append(again, c.ID)
		}
	}
	erased.Detail = listIDs("not complete yet:", pending)
	erased.Clean = len(pending) == 0
	if short > 0 {
		erased.Detail = joinDetails(erased.Detail, fmt.Sprintf("%d texts were too short to be recognised", short))
	}
	claims.Detail = joinDetails(listIDs("still there:", there), listIDs("the text is again in", again))
	claims.Clean = claims.Detail == ""
	n := 0
	look := func(path string) error {
		n++
		found, err := scanFile(ctx, gone, path)
		for _, id := range found {
			in = append(in, relativePath(l.o.Root, path)+" ("+id+")")
		}
		return err
	}
	if len(all) > 0 {
		state := l.cfg.State(l.o.Root)
		err = walkFiles(ctx, s.Dir(), look)
		if err == nil {
			err = walkFiles(ctx, filepath.Join(l.o.Root, ".ken"), func(path string) error {
				if rest, below := strings.CutPrefix(path, state+string(filepath.Separator)); below {
					if folder, _, _ := strings.Cut(filepath.ToSlash(rest), "/"); folder != rest && folder != "events" {
						return nil // of another owner
					}
				}
				return look(path)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	bytes := inspect.Check{Name: "files", Where: fmt.Sprintf("every byte of %d files, free pages included", n), Detail: listIDs("found in", in)}
	bytes.Clean = bytes.Detail == ""
	return []inspect.Check{erased, claims, bytes}, nil
}

// scanBytes are read at once. scanOverlap bytes of them are read again with the next part, because
// a text may cross the border.
const (
	scanBytes   = 4 << 20
	scanOverlap = 64 << 10
)

// scanFile searches a file for forgotten texts and returns the ids of their claims.
func scanFile(ctx context.Context, gone *forgotten.Set, path string) (ids []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, scanBytes)
	kept := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := io.ReadFull(f, buf[kept:])
		ids = union(ids, gone.Scan(buf[:kept+n]))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		kept = copy(buf, buf[len(buf)-scanOverlap:])
	}
}
