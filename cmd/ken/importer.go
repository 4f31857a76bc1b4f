package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/store"
)

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
