package session

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Read returns what the journal holds of a session, entries and injections in
// their order: all of its current part, nothing once that was swept. The caller
// owns it. Errors: ErrNotFound; ErrCorrupt for what can't be read.
func (j *Journal) Read(ctx context.Context, id string) (Transcript, error) {
	var t Transcript
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		t = Transcript{}
		rec, err := mustRecord(r, id)
		if err != nil {
			return err
		}
		t.Info, t.Upto = rec.Info, rec.Upto
		t.Entries = make([]Entry, 0, rec.Messages)
		for key, b := range r.Scan(allMessages(id)) {
			var row message
			if err := decodeValue(key, b, &row); err != nil {
				return err
			}
			t.Entries = append(t.Entries, row.entry(seqOf(key)))
		}
		if t.Injected, err = injections(r, id); err != nil {
			return err
		}
		t.Checkpoint, err = getCheckpoint(r, id)
		return err
	})
	return t, err
}

// Info returns what is known of a session. Errors: ErrNotFound, ErrCorrupt.
func (j *Journal) Info(ctx context.Context, id string) (Info, error) {
	var info Info
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		rec, err := mustRecord(r, id)
		if err == nil {
			info = rec.Info
		}
		return err
	})
	return info, err
}

// List returns every session that was not pruned, the last active first. With an
// ErrCorrupt come those that can be read.
func (j *Journal) List(ctx context.Context) ([]Info, error) {
	recs, err := j.records(ctx, func(*record) bool { return true })
	out := make([]Info, len(recs))
	for i := range recs {
		out[i] = recs[i].Info
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(b.Active.Compare(a.Active), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// records reads the sessions for which want says so, by id. One that can't be read
// does not keep the others from being returned, with the error.
func (j *Journal) records(ctx context.Context, want func(*record) bool) ([]record, error) {
	var out []record
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		out = nil
		var first error
		for key, b := range r.Scan(prefixInfo) {
			if err := ctx.Err(); err != nil {
				return err
			}
			var rec record
			if err := decodeValue(key, b, &rec); err != nil {
				first = cmp.Or(first, err)
			} else if want(&rec) {
				out = append(out, rec)
			}
		}
		return first
	})
	return out, err
}

// minPrefix is how many characters of an id name a session.
const minPrefix = 6

// Find returns the session whose id this is, or begins with this, if it is the
// only one; a beginning has at least 6 characters. Errors: ErrNotFound; ErrInvalid
// when there are several, or the beginning is too short to say.
func (j *Journal) Find(ctx context.Context, prefix string) (Info, error) {
	list, err := j.List(ctx)
	if err != nil {
		return Info{}, err
	}
	var found []Info
	for _, info := range list {
		if info.ID == prefix {
			return info, nil
		}
		if strings.HasPrefix(info.ID, prefix) {
			found = append(found, info)
		}
	}
	switch {
	case len(found) == 0:
		return Info{}, notFound(prefix)
	case utf8.RuneCountInString(prefix) < minPrefix:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "an id is named by at least 6 characters of its beginning",
			Try: "Give more of it."}
	case len(found) > 1:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "several sessions begin with " + prefix + ": " + found[0].ID + ", " + found[1].ID,
			Try: "Give more of the id."}
	}
	return found[0], nil
}

// Tail is Read for the last messages of a session alone, at most n of them, so that its
// cost does not grow with the session.
func (j *Journal) Tail(ctx context.Context, id string, n int) (Transcript, error) {
	var t Transcript
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		t = Transcript{}
		rec, err := mustRecord(r, id)
		if err != nil {
			return err
		}
		t.Info = rec.Info
		for seq := rec.Last - min(uint64(n), rec.Last) + 1; seq <= rec.Last; seq++ {
			key := keyMessage(id, seq)
			b := r.Get(key)
			if b == nil { // swept, or forgotten
				continue
			}
			var row message
			if err := decodeValue(key, b, &row); err != nil {
				return err
			}
			t.Entries = append(t.Entries, row.entry(seq))
		}
		t.Injected, err = injections(r, id)
		return err
	})
	return t, err
}

// Text renders the checkpoint for a model, in at most max characters (Unicode code
// points). When they are few, the structure comes before what was said: the entities
// in focus, their aspects and the constraints, then the goal, open questions, files,
// what else was named, and the last step; what does not fit is skipped, and
// the next is tried. The goal and the last step are shortened rather than skipped.
// "" means that not even a line fits, or that there is nothing to say. The text is
// data from a conversation: it has to pass guardrail.Neutralize before it stands in
// a block.
func (c Checkpoint) Text(max int) string {
	w := &writer{room: max}
	w.row("Focus: ", c.Focal)
	w.row("Aspects: ", c.Aspects)
	w.list("Constraints:", c.Constraints)
	w.line("Goal: ", c.Goal)
	w.list("Open questions:", c.Open)
	w.row("Files: ", c.Files)
	w.row("Named: ", others(c.Entities, c.Focal))
	w.line("Last step: ", c.LastStep)
	return strings.TrimSuffix(w.b.String(), "\n")
}

// others are the names that are not among those in focus.
func others(names, focal []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return slices.Contains(focal, analysis.Entity(s)) })
}

// writer writes lines while there is room, in characters. The last line's break
// does not count, so there is always room for one more.
type writer struct {
	b    strings.Builder
	room int
}

// add writes a line if it fits.
func (w *writer) add(s string) bool {
	n := utf8.RuneCountInString(s)
	if n > w.room {
		return false
	}
	w.b.WriteString(s)
	w.b.WriteByte('\n')
	w.room -= n + 1
	return true
}

// leastPoint is how many characters of a string are worth having.
const leastPoint = 20

// line writes a string, shortened to the room that there is.
func (w *writer) line(label, s string) {
	if s == "" {
		return
	}
	room := w.room - len(label)
	if n := utf8.RuneCountInString(s); n > room {
		if room < leastPoint {
			return
		}
		s = clip(s, room)
	}
	w.add(label + s)
}

// list writes each string on a line of its own, under a label.
func (w *writer) list(label string, items []string) {
	for _, s := range items {
		if s = "- " + s; label != "" {
			s = label + "\n" + s
		}
		if w.add(s) {
			label = ""
		}
	}
}

// row writes strings on one line, as many as fit.
func (w *writer) row(label string, items []string) {
	line, n := "", 0
	for _, s := range items {
		more := label + s
		if line != "" {
			more = ", " + s
		}
		if k := utf8.RuneCountInString(more); n+k <= w.room {
			line += more
			n += k
		}
	}
	if line != "" {
		w.add(line)
	}
}

// texts remembers what injected texts are once they were cleaned. A claim comes up
// in turn after turn, and cleaning is what takes the time.
type texts struct {
	seed maphash.Seed

	mu    sync.Mutex // guards known
	known map[uint64]string
}

// maxTexts bounds how many are remembered: a few megabytes. Then it begins anew.
const maxTexts = 4096

func (t *texts) clean(text string) string {
	key := maphash.String(t.seed, text)
	t.mu.Lock()
	c, ok := t.known[key]
	t.mu.Unlock()
	if ok {
		return c
	}
	c = cleanText(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[uint64]string{}
	}
	t.known[key] = c
	return c
}

// forget drops them all.
func (t *texts) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}

// cut leaves out the middle of a text that is longer than limit bytes: its
// beginning and end say most of what it is. A marker stands in between, and the
// whole is within the limit. It returns how many bytes are gone, 0 for none.
func cut(s string, limit int) (string, int) {
	if len(s) <= limit {
		return s, 0
	}
	half := max(0, (limit-len(marker(len(s))))/2)
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + marker(tail-head) + s[tail:], tail - head
}

func marker(n int) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// cut bounds an entry's text and the arguments of its calls.
func (e *Entry) cut(limit int) {
	e.Message.Text, e.Cut = cut(e.Message.Text, limit)
	for i := range e.Message.ToolCalls {
		c := &e.Message.ToolCalls[i]
		c.Arguments = cutArguments(c.Arguments, limit)
	}
}
