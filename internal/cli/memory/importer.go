package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/store"
)

const (
	importBatch = 1000 // lines in a transaction
	maxBatches  = 2    // batches in progress: one is prepared while the other is written
)

type importSummary struct {
	Owner     string `json:"owner"`
	DryRun    bool   `json:"dry_run,omitempty"` // nothing was written
	Written   int    `json:"written"`
	Unchanged int    `json:"unchanged"` // existed already
	Failed    int    `json:"failed"`
	Adopted   int    `json:"adopted"` // imported claims that had another owner
	// Candidates counts claims that read like rules but have no person's word.
	Candidates int `json:"rule_candidates"`
	Rules      int `json:"rules"` // claims that became rules
	// Unvouched counts the entries with a statement that only a person may make, such as that
	// they are rules.
	Unvouched int `json:"unvouched,omitempty"`

	LeftOut  map[string]int   `json:"left_out,omitempty"` // entries without content, by reason
	Problems []*importProblem `json:"problems,omitempty"`
}

type importProblem struct {
	Count int      `json:"count"`
	At    []string `json:"at"`     // the first places, as file:line
	Error string   `json:"detail"` // the first error
	Try   string   `json:"try,omitempty"`

	kind string
}

func (s importSummary) String() string {
	verb := "written"
	if s.DryRun {
		verb = "would be written"
	}
	out := fmt.Sprintf("%s %s, %d unchanged, %s failed; owner %s", cli.Count(s.Written, "claim"), verb, s.Unchanged, cli.Count(s.Failed, "line"), s.Owner)
	for _, more := range []struct {
		n      int
		format string
	}{
		{s.Adopted, ", %d of them from other owners"}, {s.Rules, "\nrules: %d; ken constraint list shows them"},
		{s.Candidates, "\ncandidate rules: %d; ken memory review shows and approves them"},
		{s.Unvouched, "\nlines whose rules, personal evidence or verification were not taken over: %d; --vouch takes them over"},
	} {
		if more.n > 0 {
			out += fmt.Sprintf(more.format, more.n)
		}
	}
	for _, why := range cli.SortedKeys(s.LeftOut) {
		out += fmt.Sprintf("\nleft out, %s: %d", why, s.LeftOut[why])
	}
	return out
}

// importer collects lines into batches and writes them. Its methods must be called from one
// goroutine.
type importer struct {
	s        store.Engine
	tell     io.Writer // receives messages about failed lines
	progress *cli.Progress
	sum      importSummary

	dry         func(*ken.Claim) // called with each claim instead of writing it; nil writes
	dryKeys     map[string]bool  // keys that dry was called with
	versions    *versions        // nil until a file has entries without an id
	keepRejects bool
	rejects     [][]byte // rejected entries, as JSON

	stopped error // the store can't be written, so the rest is skipped

	next   *importedBatch
	flight []*importedBatch // oldest first
}

type importedBatch struct {
	lines []importedLine
	in    []store.Incoming
	names map[string]bool // ids and keys of in
	out   chan []store.Outcome
}

// importedLine is the position of a line and its error. A line without an error corresponds to
// the next claim of the batch.
type importedLine struct {
	file    string
	n       int
	err     error
	adopted bool
	rule    bool
	raw     []byte     // as read; may be nil
	claim   *ken.Claim // nil for an unreadable line
}

// skip counts an entry that is left out.
func (im *importer) skip(why string) {
	if im.sum.LeftOut == nil {
		im.sum.LeftOut = map[string]int{}
	}
	im.sum.LeftOut[why]++
}

func (im *importer) add(ctx context.Context, file string, l jsonl.Line) {
	if im.next == nil {
		im.next = &importedBatch{names: map[string]bool{}, out: make(chan []store.Outcome, 1)}
	}
	b, at := im.next, importedLine{file: file, n: l.N, err: l.Err, raw: l.Raw}
	if l.Err == nil {
		at.claim, at.rule = &l.Claim, im.isRule(&l.Claim)
		owner := im.s.Owner()
		at.adopted = l.Claim.Owner != "" && l.Claim.Owner != owner
		l.Claim.Owner = owner
		im.keepEvidence(ctx, &l.Claim)
		b.in = append(b.in, store.Incoming{Claim: l.Claim, Prior: l.History})
		for _, name := range []string{"id " + l.Claim.ID, "key " + l.Claim.Key} {
			b.names[name] = true
		}
	}
	if b.lines = append(b.lines, at); len(b.lines) == importBatch {
		im.flush(ctx)
	}
}

// checkPersonsKey returns an error if a claim's key belongs to a claim with other words that a
// person wrote or made a rule. Otherwise an untrusted file could replace those words.
func (im *importer) checkPersonsKey(ctx context.Context, c *ken.Claim) error {
	if c.Key == "" || c.Support(nil).Trust == ken.TrustOperator {
		return nil
	}
	had, err := im.s.ByKey(ctx, c.Key)
	if errors.Is(err, ken.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if had.Text == c.Text || !personsWords(&had) {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "key", Msg: "a person wrote the claim with this key, or made it a rule", Try: "Give the line another key, or import the file with --vouch if it is your own word."}
}

// flush starts writing the current batch. Batches that name the same claim never run at the
// same time, because the later line must win.
func (im *importer) flush(ctx context.Context) {
	b := im.next
	if b == nil {
		return
	}
	im.next = nil
	for len(im.flight) >= maxBatches || im.conflicts(b) {
		im.settle()
	}
	im.flight = append(im.flight, b)
	ctx = context.WithoutCancel(ctx) // a batch is written as a whole, and the summary counts it
	if im.dry != nil {
		b.out <- im.wouldImport(ctx, b.in)
		return
	}
	go func() { b.out <- im.s.Import(ctx, b.in) }()
}

// wouldImport returns the outcomes that an import of claims would have.
func (im *importer) wouldImport(ctx context.Context, in []store.Incoming) []store.Outcome {
	if im.dryKeys == nil {
		im.dryKeys = map[string]bool{}
	}
	out := make([]store.Outcome, len(in))
	for i := range in {
		c := in[i].Claim
		var had ken.Claim
		err := error(ken.ErrNotFound)
		switch {
		case c.Key != "":
			had, err = im.s.ByKey(ctx, c.Key)
		case c.ID != "":
			had, err = im.s.Get(ctx, c.ID)
		}
		switch {
		case err == nil && had.Text == c.Text, c.Key != "" && im.dryKeys[c.Key]:
			continue
		case err != nil && !errors.Is(err, ken.ErrNotFound):
			out[i].Err = err
			continue
		}
		im.dryKeys[c.Key] = true
		given := c.Constraint
		reading.Assign(&c, im.s)
		if c.Constraint && !given && !vouched(&c) {
			c.Constraint, c.RuleCandidate = false, true // as the store would store it
		}
		if c.RuleCandidate {
			im.sum.Candidates++
		}
		out[i].Changed = true
		im.dry(&c)
	}
	return out
}

// keepEvidence gives a claim whose only evidence is its file the evidence that the store has
// for the same words, because the same words in another file are no new evidence.
func (im *importer) keepEvidence(ctx context.Context, c *ken.Claim) {
	if c.Key == "" || slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceArtifact || !strings.HasPrefix(e.ArtifactID, "import:")
	}) {
		return
	}
	if had, err := im.s.ByKey(ctx, c.Key); err == nil && had.Text == c.Text {
		c.Evidence = had.Evidence
	}
}

// isRule reports whether a claim becomes a rule when it is written.
func (im *importer) isRule(c *ken.Claim) bool {
	probe := *c
	if vouched(c) {
		reading.Assign(&probe, im.s)
	}
	return probe.Constraint
}

// vouched reports whether a claim has the word of a person outside of a session.
func vouched(c *ken.Claim) bool {
	return slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceUserStatement && e.Kind != ken.EvidenceMessage && e.Speaker() == ken.TrustOperator
	})
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

// settle waits for the oldest batch and counts its results.
func (im *importer) settle() {
	b := im.flight[0]
	im.flight = im.flight[1:]
	outcomes := <-b.out
	for _, l := range b.lines {
		changed := false
		if l.err == nil {
			l.err, changed = outcomes[0].Err, outcomes[0].Changed
			outcomes = outcomes[1:]
		}
		if l.err == nil {
			im.count(&l, changed)
			continue
		}
		im.sum.Failed++
		if im.stopped == nil && errors.Is(l.err, ken.ErrUnavailable) {
			im.stopped = &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("stopped at %s:%d", l.file, l.n), Err: l.err,
				Try: strings.TrimSpace(ken.Hint(l.err) + " Then import the same files again: claims that are imported already do not change.")}
		}
		if im.stopped == nil {
			im.note(&l)
		}
	}
	im.progress.Update("import", im.sum.Written+im.sum.Unchanged+im.sum.Failed, 0)
}

func (im *importer) count(l *importedLine, changed bool) {
	if changed {
		im.sum.Written++
	} else {
		im.sum.Unchanged++
	}
	if changed && l.rule {
		im.sum.Rules++
	}
	if l.adopted {
		im.sum.Adopted++
	}
}

// note records a failed line with the others of its kind.
func (im *importer) note(l *importedLine) {
	text := l.err.Error()
	kind := variableParts.ReplaceAllString(text, "…")
	i := slices.IndexFunc(im.sum.Problems, func(p *importProblem) bool { return p.kind == kind })
	if i < 0 {
		im.sum.Problems = append(im.sum.Problems, &importProblem{Error: text, Try: ken.Hint(l.err), kind: kind})
		i = len(im.sum.Problems) - 1
	}
	p := im.sum.Problems[i]
	const shown = 3
	if p.Count++; p.Count <= shown {
		p.At = append(p.At, fmt.Sprintf("%s:%d", l.file, l.n))
	}
	if !im.keepRejects {
		return
	}
	if l.raw == nil && l.claim != nil {
		l.raw, _ = json.Marshal(l.claim) // can't fail: the claim came from text
	}
	if l.raw != nil {
		im.rejects = append(im.rejects, l.raw)
	}
}

// variableParts matches what differs between errors of one kind: quoted words and numbers.
var variableParts = lazyregexp.New(`"[^"]*"|\d+`)

// explain prints the problems: each kind once, with its places and a hint.
func (im *importer) explain() {
	hints := map[string]bool{}
	for _, p := range im.sum.Problems {
		fmt.Fprintf(im.tell, "%s: %s\n", p.At[0], p.Error)
		if more := p.Count - 1; more > 0 {
			fmt.Fprintf(im.tell, "and %s of this kind: %s", cli.Count(more, "more line"), strings.Join(p.At[1:], ", "))
			if p.Count > len(p.At) {
				fmt.Fprint(im.tell, ", …")
			}
			fmt.Fprintln(im.tell)
		}
		if p.Try != "" && !hints[p.Try] {
			hints[p.Try] = true
			fmt.Fprintf(im.tell, "Try: %s\n", p.Try)
		}
	}
}

// writeRejects writes the rejected entries, one JSON value a line.
func (im *importer) writeRejects(path string) error {
	if path == "" || len(im.rejects) == 0 {
		return nil
	}
	return cli.ReplaceFile(path, func(w io.Writer) error {
		_, err := w.Write(append(bytes.Join(im.rejects, []byte("\n")), '\n'))
		return err
	})
}

// candidates counts the rule candidates in the store.
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

// embed computes the vectors of the new claims if a service makes them. A model in this
// process has made them during the import.
func (im *importer) embed(ctx context.Context) {
	if _, err := im.s.EmbedMissing(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(im.tell, "ken: the claims are found by words, not yet by meaning: %v\nTry: ken index, later.\n", err)
	}
}

// untilDone yields the values of seq until ctx ends, even if seq is still waiting for a
// terminal or a pipe. seq runs in a goroutine of its own, which ends at the next value.
func untilDone[T any](ctx context.Context, seq iter.Seq[T]) iter.Seq[T] {
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
