package session

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Read returns the journal's content of a session: the entries and injections of its
// current part, in their order; nothing after a sweep. The caller owns the result.
// Errors: ErrNotFound; ErrCorrupt for what can't be read.
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
		if err := each(r, allMessages(id), func(key string, row *message) { t.Entries = append(t.Entries, row.entry(seqOf(key))) }); err != nil {
			return err
		}
		if t.Injected, err = injections(r, id); err != nil {
			return err
		}
		t.Checkpoint, err = getCheckpoint(r, id)
		return err
	})
	return t, err
}

// Info returns the stored information about a session. Errors: ErrNotFound,
// ErrCorrupt.
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
// ErrCorrupt it returns those that can be read.
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

// records returns the sessions for which want returns true, by id. If some can't be
// read, it returns the others and the first error.
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

// minPrefix is the least length of a prefix that Find accepts.
const minPrefix = 6

// Find returns the session with this id or the only one whose id has this prefix of
// at least 6 characters. Errors: ErrNotFound; ErrInvalid if several match, or the
// prefix is too short.
func (j *Journal) Find(ctx context.Context, prefix string) (Info, error) {
	list, err := j.List(ctx)
	if err != nil {
		return Info{}, err
	}
	if i := slices.IndexFunc(list, func(info Info) bool { return info.ID == prefix }); i >= 0 {
		return list[i], nil
	}
	list = slices.DeleteFunc(list, func(info Info) bool { return !strings.HasPrefix(info.ID, prefix) })
	switch {
	case len(list) == 0:
		return Info{}, notFound(prefix)
	case utf8.RuneCountInString(prefix) < minPrefix:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "a session is named by at least the first 6 characters of its id",
			Try: "Give more of it."}
	case len(list) > 1:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "several sessions begin with " + prefix + ": " + list[0].ID + ", " + list[1].ID,
			Try: "Give more of the id."}
	}
	return list[0], nil
}

// Tail is Read for the last n messages of a session. Its cost does not grow with the
// session.
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
			e, err := entryAt(r, id, seq)
			if err != nil {
				return err
			}
			if e != nil { // nil when it was swept or forgotten
				t.Entries = append(t.Entries, *e)
			}
		}
		t.Injected, err = injections(r, id)
		return err
	})
	return t, err
}

// Text formats the checkpoint for a model, in at most max characters (Unicode code
// points). If space is short, the structure comes first: the entities in focus,
// their aspects and the constraints; then the goal, open questions, files, other
// entities and the last step. A line that does not fit is skipped, and the next one
// is tried. The goal and the last step are shortened instead of skipped. The result
// is "" if no line fits or the checkpoint is empty. The text is data from a
// conversation: pass it through guardrail.Neutralize before you put it into a block.
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

// others returns the names that are not in focus.
func others(names, focal []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return slices.Contains(focal, analysis.Entity(s)) })
}

// writer writes lines while they fit into room, counted in characters. The last
// line's newline does not count, so there is always room for it.
type writer struct {
	b    strings.Builder
	room int
}

// add writes a line if it fits, and reports whether it did.
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

// minPoint is the least number of characters to which a string is shortened.
const minPoint = 20

// line writes a labelled string, shortened to fit.
func (w *writer) line(label, s string) {
	if s == "" {
		return
	}
	room := w.room - len(label)
	if n := utf8.RuneCountInString(s); n > room {
		if room < minPoint {
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

// maxTexts is the largest number of cached texts: a few megabytes.
const maxTexts = 4096

// cleanInjected is cleanText for an injection. The same claims are injected turn after turn, and
// cleaning is slow.
func (j *Journal) cleanInjected(text string) string {
	key := maphash.String(j.seed, text)
	c, ok := j.texts.Get(key)
	if !ok {
		c = cleanText(text)
		j.texts.Put(key, c)
	}
	return c
}

// cut removes the middle of a text that is longer than limit bytes and puts a marker
// there. The result is within the limit. It returns how many bytes it removed, 0 for
// none.
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

// cut limits an entry's text and the arguments of its calls.
func (e *Entry) cut(limit int) {
	e.Message.Text, e.Cut = cut(e.Message.Text, limit)
	for i := range e.Message.ToolCalls {
		c := &e.Message.ToolCalls[i]
		c.Arguments = cutArguments(c.Arguments, limit)
	}
}
