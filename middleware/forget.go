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
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Forgotten lists what Forget erased.
type Forgotten struct {
	Claims   []string          `json:"forgotten"`          // ids, the requested one first
	Redacted []string          `json:"redacted,omitempty"` // ids of the episodes whose rest was written again
	Messages int               `json:"messages,omitempty"` // messages of journals
	Sessions []string          `json:"sessions,omitempty"` // the sessions of these messages
	Given    []forgotten.Given `json:"given,omitempty"`    // the turns whose models had the claim, oldest first, as far as receipts tell
	Looked   []string          `json:"looked,omitempty"`   // the places that were searched and are clean
	Files    []string          `json:"files,omitempty"`    // a person's own files that still say it, relative to the project
	Pending  string            `json:"pending,omitempty"`  // why it is not erased from every file yet; "" once it is
}

// Forget erases a claim for good, found by its id or a unique part of it, and everything that
// still says what it said:
//   - claims that were derived from it or say the same; of an episode that mentions it, the
//     rest is written again
//   - messages of journals that it came from or that repeat it, and all messages of a session
//     that was harvested
//   - injected texts and checkpoints
//   - receipts of the sessions in which it was said; other receipts keep the id and nothing
//     else
//   - marks of agents, and refused writes
//
// Sessions that go on, in whichever process, do not teach it again. At the end the files are
// rewritten, so that the text is gone from the disk.
//
// Forget belongs to the operator: nothing that an agent can reach calls it. It stops a running
// harvest, which is tried again later, and waits for harvests of other processes. If it returns
// an error, some text may be left, and Forgotten lists what was erased. The rest is erased in
// the background, when the store is opened next, or when Forget is called again with the same
// id. Called for a claim that was erased before, Forget returns what was erased. It returns
// ErrNotFound for an unknown id.
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
	if id != root.ID { // a part of an id must not match another claim once the intended one is gone
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
	r, given, err := d.deletionScope(ctx, s, e.matcher, root)
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

// containsForgotten returns a function that recognizes the blocks of an owner's running
// conversations that have one of the claims, or the text. What the project's files say does not
// count.
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

// forgetSessions deletes the receipts of sessions in which it was said. Their signals can't be
// cleaned of it.
func forgetSessions(ctx context.Context, d *ownerSessions, sessions []string) error {
	for _, id := range sessions {
		if _, err := d.receipts.ForgetSession(ctx, id); err != nil {
			return fmt.Errorf("forget the receipts of session %s: %w", id, err)
		}
	}
	return nil
}

// forgetNotes removes deleted claims from receipts and from the attention queue.
func forgetNotes(ctx context.Context, s store.Engine, d *ownerSessions, matcher *matcher.Claim, ids []string) error {
	_, err := d.receipts.Forget(ctx, receipt.Traces{Claims: ids, Text: matcher.MatchAny})
	_, marks := attention.Forget(ctx, s.Shelf(), attention.Traces{Claims: ids, Text: matcher.MatchAny})
	return errors.Join(err, marks)
}

// rewriteMemoryFile writes MEMORY.md again if it may list one of the deleted claims.
func (l *Layer) rewriteMemoryFile(ctx context.Context, owner string, gone []ken.Claim) error {
	if !l.inMemoryFile(owner, gone) {
		return nil
	}
	if _, err := l.Operator().SyncMemory(ctx, ""); err != nil {
		return fmt.Errorf("forgotten, but MEMORY.md may still tell of it: %w", err)
	}
	return nil
}

// evalDir holds the question sets that ken eval generate makes of claims, and the sweeps over
// them. They can be generated again.
const evalDir = ".ken/eval"

// maxKnowledgeFile bounds the files of a person that are searched, in bytes.
const maxKnowledgeFile = 16 << 20

// eraseFiles removes the text from Ken's own files outside the store, and lists the person's
// files that have it.
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
		if errors.Is(err, projectfile.ErrTooLarge) { // no file that a person reads
			return nil
		}
		if err == nil && e.matcher.MatchText(string(b)) {
			e.record.Files = union(e.record.Files, []string{relativePath(e.l.o.Root, path)})
		}
		return err
	})
}

// unescapeJSON returns a line of JSON without its escapes of white space and quotes.
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

// walkFiles calls fn for every regular file below a folder, which may be missing.
func walkFiles(ctx context.Context, dir string, fn func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
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

// removeLines writes a file of lines again without the lines for which says is true. A file of
// another form that has any is deleted. It needs no room on the disk.
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
	// In place, so that the text is overwritten; the rest is cut off afterwards.
	_, err = f.WriteAt(append(slices.Clone(rest), bytes.Repeat([]byte{'\n'}, len(b)-len(rest))...), 0)
	return errors.Join(err, f.Sync(), f.Truncate(int64(len(rest))), f.Close())
}

// CheckAllForgotten searches for everything that was ever forgotten: every byte of the owner's
// files and of the project's folder .ken, including free pages, by the stored fingerprints, and
// the claims by their ids. It changes nothing. What somebody said again later is found as well,
// and reported apart where it is a claim. Texts of one or two words have no fingerprint, and
// single words, as in the keyword index, are not recognized. After an error nothing is known.
func (l operator) CheckAllForgotten(ctx context.Context, owner string) ([]inspect.Check, error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := l.recorder.flush(ctx); err != nil {
		return nil, err
	}
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
	erased := inspect.Check{Name: "erased", Where: "what is noted of each of them"}
	claims := inspect.Check{Name: "claims", Where: "the table of claims, by the ids that are gone and by what each claim says"}
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
	erased.Detail = listIDs("not everywhere yet:", pending)
	erased.Clean = len(pending) == 0
	if short > 0 {
		erased.Detail = joinDetails(erased.Detail, fmt.Sprintf("%d texts were too short to be recognised", short))
	}
	claims.Detail = joinDetails(listIDs("still there:", there), listIDs("said again since by", again))
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
						return nil // of an owner; this owner's were searched above
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

// Bytes of a file that are read at once, and of them those that are read twice because a text
// may lie across.
const (
	scanBytes   = 4 << 20
	scanOverlap = 64 << 10
)

// scanFile searches a file for what was forgotten.
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
