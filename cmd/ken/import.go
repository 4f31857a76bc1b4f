package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE|- …",
		Short: "Read claims from JSON lines",
		Long: "Read claims from files with one JSON object a line, as ken export writes them or any other program: only text is " +
			"required. A claim that is there already, known by its id or its key, changes nothing; one with a known key and other " +
			"content is a new version. The claims become the owner's, whoever they belonged to where they come from.\n\n" +
			"A line that can't be read is reported and the rest is imported; the exit status is then 1. When it is stopped, whole batches " +
			"of lines are in and the rest is not.",
		Example: `  ken import claims.jsonl
  ken export --owner alice | ken import --owner bob -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("import: FILE is missing; - is standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.importFiles(cmd.Context(), args) },
	}
}

func (a *app) importFiles(ctx context.Context, files []string) error {
	for _, file := range files { // a misspelled one must not show half way
		if err := a.check(file); err != nil {
			return err
		}
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		p := a.progress()
		defer p.done()
		im := &importer{s: s, tell: a.err, progress: p, hints: map[string]bool{}}
		im.sum.Owner = s.Owner()
		before, err := im.candidates(ctx)
		if err != nil {
			return err
		}
		err = a.importAll(ctx, im, files)
		im.settleAll()
		err = errors.Join(im.stopped, err)
		if after, err := im.candidates(context.WithoutCancel(ctx)); err == nil {
			im.sum.Candidates = max(after-before, 0)
		}
		p.done()
		if err == nil && ctx.Err() == nil {
			im.embed(ctx)
		}
		if a.json {
			err = errors.Join(err, a.printJSON(im.sum))
		} else {
			fmt.Fprintln(a.err, im.sum)
		}
		switch {
		case err != nil:
			return err
		case im.sum.Failed > 0:
			return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%d lines were not imported", im.sum.Failed),
				Try: "Put those lines into a file of their own, correct them there, and import that."}
		}
		return ctx.Err()
	})
}

// importAll reads the files until they or ctx end. A last batch that is not
// full when ctx ends is dropped.
func (a *app) importAll(ctx context.Context, im *importer, files []string) error {
	for _, file := range files {
		if err := a.importFile(ctx, im, file); err != nil {
			im.flush(ctx) // the files before it are good
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	im.flush(ctx)
	return nil
}

func (a *app) importFile(ctx context.Context, im *importer, file string) error {
	in, err := a.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	for line := range until(ctx, jsonl.Read(in, filepath.Base(file))) {
		if im.stopped != nil {
			break
		}
		im.add(ctx, file, line)
	}
	return nil
}

// check reports a file that can't be opened as one.
func (a *app) check(file string) error {
	if file == "-" {
		return nil
	}
	fi, err := os.Stat(file)
	if err == nil && fi.IsDir() {
		err = fmt.Errorf("%s is a folder", file)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the path; - is standard input."}
	}
	return nil
}

// open opens a file for reading; - is standard input, which stays open.
func (a *app) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(a.in), nil
	}
	if err := a.check(file); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the file's permissions."}
	}
	return f, nil
}

// until yields what seq yields, and ends when ctx does although seq may still
// wait for a terminal or a pipe: seq runs in a goroutine of its own, which ends
// with the next value that comes.
func until[T any](ctx context.Context, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		values := make(chan T, 256)
		go func() {
			defer close(values)
			for v := range seq {
				select {
				case values <- v:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case v, ok := <-values:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

const (
	importBatch  = 1000 // lines in one transaction
	importFlight = 2    // batches at once: one is prepared while the other is written
)

// importSummary is what became of the lines.
type importSummary struct {
	Owner     string `json:"owner"`
	Written   int    `json:"written"`
	Unchanged int    `json:"unchanged"` // were there already
	Failed    int    `json:"failed"`
	Adopted   int    `json:"adopted"` // of those that are in, claims that carried another owner
	// Candidates are claims that read like rules and that nobody vouches for.
	Candidates int `json:"rule_candidates"`
}

func (s importSummary) String() string {
	out := fmt.Sprintf("%d claims written, %d unchanged, %d lines failed; owner %s", s.Written, s.Unchanged, s.Failed, s.Owner)
	if s.Adopted > 0 {
		out += fmt.Sprintf(", %d of them from other owners", s.Adopted)
	}
	if s.Candidates > 0 {
		out += fmt.Sprintf("\ncandidate rules: %d; ken memory review shows and approves them", s.Candidates)
	}
	return out
}

// importer collects lines into batches and writes them. Its methods are called
// from one goroutine.
type importer struct {
	s        store.Engine
	tell     io.Writer // hears about every line that failed
	progress *progress
	sum      importSummary
	hints    map[string]bool // advice given already

	stopped error // the store can't be written: the rest is not tried

	next   *importedBatch
	flight []*importedBatch // oldest first
}

type importedBatch struct {
	lines []importedLine
	in    []store.Incoming
	names map[string]bool // ids and keys of in
	out   chan []store.Outcome
}

// importedLine is where a line was, and what is wrong with it; without an error
// it is the next of the batch's claims.
type importedLine struct {
	file    string
	n       int
	err     error
	adopted bool
}

// add takes one line.
func (im *importer) add(ctx context.Context, file string, l jsonl.Line) {
	if im.next == nil {
		im.next = &importedBatch{names: map[string]bool{}, out: make(chan []store.Outcome, 1)}
	}
	b, at := im.next, importedLine{file: file, n: l.N, err: l.Err}
	if l.Err == nil {
		owner := im.s.Owner()
		at.adopted = l.Claim.Owner != "" && l.Claim.Owner != owner
		l.Claim.Owner = owner
		b.in = append(b.in, store.Incoming{Claim: l.Claim, Prior: l.History})
		for _, name := range []string{"id " + l.Claim.ID, "key " + l.Claim.Key} {
			b.names[name] = true
		}
	}
	if b.lines = append(b.lines, at); len(b.lines) == importBatch {
		im.flush(ctx)
	}
}

// flush starts writing the batch at hand. Two batches that name the same claim
// never run at once: the later line must win.
func (im *importer) flush(ctx context.Context) {
	b := im.next
	if b == nil {
		return
	}
	im.next = nil
	for len(im.flight) >= importFlight || im.conflicts(b) {
		im.settle()
	}
	im.flight = append(im.flight, b)
	ctx = context.WithoutCancel(ctx) // a batch is in or not, and the summary must know
	go func() { b.out <- im.s.Import(ctx, b.in) }()
}

func (im *importer) conflicts(b *importedBatch) bool {
	for _, other := range im.flight {
		for name := range b.names {
			if name != "id " && name != "key " && other.names[name] {
				return true
			}
		}
	}
	return false
}

// settle waits for the oldest batch and counts what became of it.
func (im *importer) settle() {
	b := im.flight[0]
	im.flight = im.flight[1:]
	outcomes := <-b.out
	for _, l := range b.lines {
		if l.err == nil {
			var o store.Outcome
			o, outcomes = outcomes[0], outcomes[1:]
			l.err = o.Err
			im.count(&l, o.Changed)
		}
		if l.err != nil {
			im.sum.Failed++
		}
		if im.stopped == nil && errors.Is(l.err, ken.ErrUnavailable) {
			im.stopped = &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("stopped at %s:%d", l.file, l.n), Err: l.err,
				Try: strings.TrimSpace(ken.Hint(l.err) + " Then import the same files again: what is in already does not change.")}
		}
		if l.err != nil && im.stopped == nil {
			im.complain(&l)
		}
	}
	im.progress.update("import", im.sum.Written+im.sum.Unchanged+im.sum.Failed, 0)
}

func (im *importer) count(l *importedLine, changed bool) {
	switch {
	case l.err != nil:
		return
	case changed:
		im.sum.Written++
	default:
		im.sum.Unchanged++
	}
	if l.adopted {
		im.sum.Adopted++
	}
}

func (im *importer) settleAll() {
	for len(im.flight) > 0 {
		im.settle()
	}
}

// complain tells of a line that failed, and once how such lines are mended.
func (im *importer) complain(l *importedLine) {
	fmt.Fprintf(im.tell, "%s:%d: %v\n", l.file, l.n, l.err)
	if hint := ken.Hint(l.err); hint != "" && !im.hints[hint] {
		im.hints[hint] = true
		fmt.Fprintf(im.tell, "Try: %s\n", hint)
	}
}

// candidates counts the candidate rules of the store.
func (im *importer) candidates(ctx context.Context) (n int, err error) {
	f := ken.Filter{Statuses: ken.RecallStatuses(), ClaimsOnly: true}
	for _, err := range im.s.Scan(ctx, &f, func(g store.Glance) bool { return g.Candidate }) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// embed gives the new claims their vectors where a service makes them; a model
// in this process has done so while they were written.
func (im *importer) embed(ctx context.Context) {
	if _, err := im.s.EmbedMissing(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(im.tell, "ken: the claims are found by words, not yet by meaning: %v\nTry: ken index, later.\n", err)
	}
}

type exportOptions struct {
	out                     string
	statuses, kinds, scopes []string
}

func (a *app) exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write claims as JSON lines",
		Long: "Write every claim with its history, one JSON object a line, whatever its status and whether it has expired. " +
			"ken import reads it back, into this store or another one, and nothing is lost. Pieces of the repository are left out: " +
			"ken index makes them anew.",
		Example: `  ken export --out claims.jsonl
  ken export --status verified --kind playbook`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.export(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	f.StringArrayVar(&o.statuses, "status", nil, "only claims of this `status` (repeatable)")
	f.StringArrayVar(&o.kinds, "kind", nil, "only claims of this `kind` (repeatable)")
	f.StringArrayVar(&o.scopes, "scope", nil, "only claims of this scope, as `type:id` (repeatable)")
	return cmd
}

func (a *app) export(ctx context.Context, o *exportOptions) error {
	f := ken.Filter{}
	if err := filterFlags(&f, o.statuses, o.kinds, o.scopes); err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		p := a.progress()
		defer p.done()
		n := 0
		write := func(w io.Writer) (err error) {
			n, err = jsonl.Export(ctx, s, f, w, func(n int) { p.update("export", n, 0) })
			return err
		}
		if o.out == "" || o.out == "-" {
			w := bufio.NewWriter(a.out)
			if err := errors.Join(write(w), w.Flush()); err != nil {
				return err
			}
			p.done()
			return nil
		}
		if err := replaceFile(o.out, write); err != nil {
			return err
		}
		p.done()
		if a.json {
			return a.printJSON(map[string]any{"claims": n, "file": o.out})
		}
		fmt.Fprintf(a.err, "%d claims written to %s\n", n, o.out)
		return nil
	})
}

// replaceFile writes a file next to path and puts it in path's place once it is
// whole and on the disk; until then path is what it was.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--out", Msg: path + " is not a regular file",
			Try: "Leave --out away to write to standard output."}}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Field: "--out", Msg: "create file", Err: err, Try: "Check that the folder is there and writable."}
	}
	defer func() {
		if err != nil { // which matters more than what is left of the new file
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("put %s into place: %w", path, err)
	}
	return nil
}
