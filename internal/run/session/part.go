package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// recordPart is the part of a Record that belongs to one session.
type recordPart struct {
	j      *Journal
	m      *sessionCache
	was    cacheSnapshot
	looked bool // the cache is up to date, and was is set
	stale  bool // the cache has messages that were refused
	known  bool // the session exists
	joins  bool // this process is not yet recorded as one of the session's
	lastAt time.Time
	now    time.Time
	notes  []*pendingNote
	err    error
}

// pendingNote is a note that is being stored.
type pendingNote struct {
	*Note
	i        int   // its index in the Record
	about    About // cleaned
	entries  []Entry
	fresh    []incoming              // the messages of the entries
	earlier  map[*ken.Message]*Entry // the entries as first prepared, if prepare runs again
	injected []Injection
	altered  bool   // an injected item had to be cleaned
	through  uint64 // see Noted
	standing *Block // see Noted
}

// partsOf groups notes by session, in order of first occurrence.
func partsOf(j *Journal, notes []Note, todo []int) (parts []*recordPart) {
	at := map[string]*recordPart{}
	for _, i := range todo {
		id := notes[i].About.ID
		p := at[id]
		if p == nil {
			p = &recordPart{j: j, m: j.cacheOf(id)}
			at[id] = p
			parts = append(parts, p)
		}
		n := &pendingNote{Note: &notes[i], i: i, about: notes[i].About}
		n.about.clean()
		p.notes = append(p.notes, n)
	}
	return parts
}

// look brings the session's cache up to date.
func (p *recordPart) look(r store.ShelfReader) {
	p.known, p.joins = false, false
	rec, err := p.m.info.get(r, p.m.id)
	if err == nil {
		err = p.m.load(r, rec)
	}
	if p.err = err; err != nil {
		return
	}
	p.was, p.looked = p.m.before(), true
	if rec != nil {
		p.known, p.joins, p.lastAt = true, rec.missing(p.j.o.Process), rec.LastAt
	}
}

// prepare determines the new messages in memory. It updates the cache as if they were
// stored, so that each note takes those before it into account; restore undoes that.
// annotate is called with the index of each note when its entries are known.
func (p *recordPart) prepare(now time.Time, annotate func(at int)) {
	if p.now = now; p.err != nil {
		return
	}
	for i, n := range p.notes {
		n.injected, n.altered, n.through = nil, false, 0
		in := p.m.read(n.Messages)
		fresh, line := in, (*knownConversation)(nil)
		if !n.all {
			fresh, line = p.m.fresh(in)
		}
		if n.Unkept {
			p.m.ignore(fresh)
			continue
		}
		p.makeEntries(n, fresh)
		annotate(i)
		for i := range n.entries {
			p.m.note(&n.entries[i], n.fresh[i].digest)
		}
		p.m.stamp.last += uint64(len(n.entries))
		if len(in) > 0 {
			n.through = p.m.place(in[len(in)-1].digest)
		}
		p.m.remember(in, line)
		p.inject(n)
	}
}

// makeEntries makes entries of new messages. A message that was prepared before gets
// the same entry again.
func (p *recordPart) makeEntries(n *pendingNote, fresh []incoming) {
	at := later(p.now, p.lastAt)
	n.entries, n.fresh = make([]Entry, len(fresh)), fresh
	for i, x := range fresh {
		e := &n.entries[i]
		if was := n.earlier[x.raw]; was != nil {
			*e = *was
		} else {
			if x.clean == nil { // seen before: it was evicted, or is said again
				c, _ := kept(x.raw)
				x.clean = &c
			}
			e.Message = *x.clean
			e.cut(p.j.o.MaxMessageBytes)
		}
		e.Seq, e.At = p.m.stamp.last+uint64(i)+1, at
	}
}

// keepEntries saves the prepared entries, for when prepare runs again.
func (n *pendingNote) keepEntries() {
	if n.earlier == nil {
		n.earlier = map[*ken.Message]*Entry{}
	}
	for i := range n.entries {
		n.earlier[n.fresh[i].raw] = &n.entries[i]
	}
}

// inject makes injections of the note's items, each id and text once.
func (p *recordPart) inject(n *pendingNote) {
	for _, it := range n.Injected {
		in := Injection{ID: clean.Text(it.ID), Kind: it.Kind, Text: p.j.cleanInjected(it.Text), At: p.now}
		n.altered = n.altered || in.ID != it.ID || changedBy(in.Text, it.Text)
		if in.Text != "" && !slices.ContainsFunc(n.injected, in.same) {
			n.injected = append(n.injected, in)
		}
	}
}

// same reports whether two injections have the same id and text.
func (in *Injection) same(o Injection) bool { return in.ID == o.ID && in.Text == o.Text }

// changedBy reports whether cleaning removed something that must be removed from a
// user's text too, such as a secret. White space at the ends does not count.
func changedBy(cleaned, text string) bool {
	text = strings.TrimSpace(text)
	return cleaned != text && cleanSaid(text) != text
}

// writes reports whether the part may have something to write.
func (p *recordPart) writes() bool {
	return slices.ContainsFunc(p.notes, func(n *pendingNote) bool {
		return !n.Unkept && (p.joins && len(n.Messages) > 0 || len(n.entries) > 0 || !p.known && len(n.Messages) > 0 || len(n.injected) > 0 || n.Block != nil || n.Step != nil)
	})
}

// write stores the part. If the session changed since look, it determines the new
// messages again. It may run more than once.
func (p *recordPart) write(tx store.ShelfTx) error {
	rec, err := p.m.info.get(tx, p.m.id)
	if err != nil {
		return err
	}
	gone, err := forgotten.In(tx)
	if err != nil {
		return err
	}
	if rec.stamp() != p.was.stamp {
		p.m.restore(p.was)
		if p.look(tx); p.err != nil {
			return p.err
		}
		for _, n := range p.notes {
			n.keepEntries()
		}
		p.prepare(p.now, func(int) {}) // no annotation: it might read the shelf, which this transaction locks
	}
	changed := false
	for _, n := range p.notes {
		if n.Unkept {
			continue
		}
		if len(n.entries) > 0 || rec == nil && len(n.Messages) > 0 {
			if rec == nil {
				rec = begin(n.about, p.now)
			}
			changed = true
			if err := p.keep(tx, rec, n); err != nil {
				return err
			}
		}
		if rec != nil && len(n.Messages) > 0 && rec.missing(p.j.o.Process) { // nothing new, but this process uses the session
			rec.addProcess(p.j.o.Process)
			changed = true
		}
		if rec == nil && len(n.injected) > 0 {
			rec, changed = begin(About{ID: p.m.id}, p.now), true
			rec.Process = p.j.o.Process
		}
		kept, rest, err := p.keepBlock(tx, rec, n, gone)
		if err == nil {
			err = keepInjections(tx, p.m.id, rest, gone)
		}
		if err != nil {
			return err
		}
		changed = changed || kept
		if n.Step != nil && rec != nil {
			if err := p.step(tx, n, rec, gone); err != nil {
				return err
			}
		}
	}
	if changed {
		if err := p.m.info.put(tx, rec); err != nil {
			return err
		}
	}
	if err := p.refuse(tx, rec, gone); err != nil {
		return err
	}
	p.m.stamp = rec.stamp() // after rec was created or changed
	return nil
}

// keep adds a note's entries to the session.
func (p *recordPart) keep(tx store.ShelfTx, rec *record, n *pendingNote) error {
	if len(n.entries) > 0 {
		rec.reopen()
	}
	rec.update(&n.about)
	rec.Active = p.now
	rec.addProcess(p.j.o.Process)
	for i := range n.entries {
		e := &n.entries[i]
		if err := put(tx, keyMessage(rec.ID, e.Seq), messageOf(e, n.fresh[i].digest)); err != nil {
			return err
		}
		rec.Last, rec.LastAt = e.Seq, e.At
		rec.Messages++
		if r := e.Message.Role; r == "user" || r == "assistant" {
			rec.Said++
		}
	}
	return nil
}

var sum = Digest // a variable, so that a test can make it panic

// step updates the checkpoint. If only its time would change, as with a further request
// of the same turn, it is not written.
func (p *recordPart) step(tx store.ShelfTx, n *pendingNote, rec *record, gone *forgotten.Set) error {
	prev, err := getCheckpoint(tx, p.m.id)
	if err != nil {
		return err
	}
	var c Checkpoint
	err = caught.Run(func() error {
		c = sum(prev, n.entries, n.Step, p.now)
		if prev == nil {
			prev = &Checkpoint{}
		}
		c = c.cleaned(prev)
		return nil
	})
	if err != nil { // the messages are stored even so
		p.j.o.Log.Error("a session's checkpoint stays as it is", "session", p.m.id, "cause", err, "stack", caught.Stack(err))
		return nil
	}
	if gone != nil {
		c.forget(func(text string) bool {
			return reveals(gone, rec, text) || slices.ContainsFunc(n.Injected, func(it ken.Item) bool { return gone.Has(it.ID) && checkpointLine(it.Text) == text })
		})
	}
	if len(n.entries) == 0 && same(&c, prev) {
		return nil
	}
	return put(tx, keyCheckpoint(p.m.id), &c)
}

// same reports whether two checkpoints have the same content, times aside.
func same(a, b *Checkpoint) bool {
	return a.Seq == b.Seq && a.Goal == b.Goal && a.LastStep == b.LastStep &&
		slices.EqualFunc(a.lists(), b.lists(), func(x, y *[]string) bool { return slices.Equal(*x, *y) })
}

// annotate calls Options.Annotate for each entry of a note.
func (p *recordPart) annotate(ctx context.Context, at int) {
	if p.j.o.Annotate == nil {
		return
	}
	n := p.notes[at]
	for i := range n.entries {
		e := n.entries[i]
		p.ask(ctx, &e, p.call(ctx, at, i))
		n.entries[i].Files = cleanFiles(e.Files)
	}
}

// ask calls Options.Annotate and recovers from a panic.
func (p *recordPart) ask(ctx context.Context, e *Entry, call *ken.ToolCall) {
	defer func() {
		if r := recover(); r != nil {
			e.Files = nil
			p.j.o.Log.Error("annotate a message", "session", p.m.id, "message", e.ID(), "panic", r)
		}
	}()
	p.j.o.Annotate(ctx, e, call)
}

// kept returns a message as the journal stores it, not yet cut. It returns false for a
// message that is not stored: a system message, a block, or nothing but reasoning.
func kept(m *ken.Message) (ken.Message, bool) {
	out := ken.Message{Role: clean.Text(m.Role), Name: clean.Text(m.Name), ToolCallID: clean.Text(m.ToolCallID)}
	switch m.Role {
	case "", "system", "developer", "reasoning", "thinking":
		return out, false
	}
	text := cleanText
	if m.Role == "user" {
		text = cleanSaid
	}
	out.Text = text(textOf(m))
	for _, p := range m.Parts {
		if p.Type != "text" && p.Ref != "" {
			// The content of a reference is not stored; its hash identifies it.
			out.Parts = append(out.Parts, ken.Part{Type: clean.Text(p.Type), Ref: hexOf(p.Ref)})
		}
	}
	for _, c := range m.ToolCalls {
		call := ken.ToolCall{ID: clean.Text(c.ID), Name: clean.Text(c.Name)}
		if !takesReasoning(c.Name) {
			call.Arguments = cleanArguments(c.Arguments)
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	// An empty tool result is stored: the call succeeded.
	return out, out.Text != "" || len(out.Parts) > 0 || len(out.ToolCalls) > 0 || out.ToolCallID != ""
}

// takesReasoning reports whether a tool only gives the model a place to think: think, or
// sequentialthinking, after the name of an MCP server or alone. Its arguments are reasoning.
func takesReasoning(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return len(words) > 0 && words[len(words)-1] == "think" || strings.HasSuffix(strings.Join(words, ""), "sequentialthinking")
}

// textOf returns a message's text, or its parts' texts if the adapter set only those.
func textOf(m *ken.Message) string {
	if m.Text != "" || len(m.Parts) == 0 {
		return m.Text
	}
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func cleanText(s string) string { return cleanedWith(clean.Text, s) }

// cleanSaid is cleanText for a user's text.
func cleanSaid(s string) string { return cleanedWith(clean.PersonText, s) }

func cleanedWith(clean func(string) string, s string) string {
	s = clean(s)
	if bare := withoutBlocks(s); bare != s {
		s = clean(bare) // removing a block joins the text around it
	}
	return strings.TrimSpace(s)
}

// withoutBlocks removes every complete block that the layer injected, wherever a client
// put it: alone, at the start of a message, or quoted in a summary. A block's content
// can't contain the end marker, so the first end marker closes the block.
func withoutBlocks(s string) string {
	const open, end = guardrail.FrameOpen + "\n", "\n" + guardrail.FrameClose
	var b strings.Builder
	done := 0 // s[:done] is written to b or left out
	for at := 0; ; {
		i := strings.Index(s[at:], open)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(open)
		if start > done && s[start-1] != '\n' { // mentioned within a line
			continue
		}
		n := strings.Index(s[at-1:], end)
		if n < 0 {
			break
		}
		b.WriteString(s[done:start])
		at += n - 1 + len(end)
		done = at
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}
