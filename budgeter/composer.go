package budgeter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// composer is the state of one call of Compose.
type composer struct {
	ctx        context.Context
	o          Options
	candidates []Candidate
	short      []string

	room       int      // code points left for everything except memory
	memoryRoom int      // code points left for memory
	tokens     int      // tokens left for the whole block, if there is a limit
	texts      []string // of block.Items, headers included
	spilled    []int32  // knowledge that did not fit and is tried again as memory
	shown      shownText
	warn       bool // there is room for the line about missing constraints
	block      Block

	grace       context.Context // context for loading constraints after ctx has ended; nil before
	cancelGrace func()
}

// piece is a rendered item.
type piece struct {
	item   ken.Item
	text   string // header included
	tokens int
}

// measure computes the room that the frame leaves.
func (c *composer) measure() {
	c.room = c.o.Chars - len(preamble) - len(closing)
	c.memoryRoom = c.o.MemoryChars
	c.tokens = c.o.Tokens - c.count(preamble) - c.count(closing)
	if c.room < 0 { // not even the frame fits
		c.memoryRoom = 0
	}
}

// count returns the number of tokens if there is a limit; 0 otherwise.
func (c *composer) count(s string) int {
	switch {
	case c.o.Tokens <= 0:
		return 0
	case c.o.Count == nil:
		return len(s)
	}
	return c.o.Count(s)
}

// leastPart is less than the size of any item: the fixed fields of the header and one character.
const leastPart = len("\n[k:1] Guessed | undated\nx\n")

// add takes the candidates that fit into a part of the block, in the given order.
func (c *composer) add(order []int32, memory bool, room *int) {
	for _, i := range order {
		if it := &c.candidates[i].Item; it.Tier < c.o.MinTier && !isCheckpoint(it, memory) {
			c.cut(i, ken.CutTier, "")
			continue
		}
		if *room < leastPart {
			c.cutForRoom(i, memory, "no room left")
			continue
		}
		p, lack, dup, ok := c.try(i, memory, *room)
		switch {
		case !ok, dup:
		case lack != "":
			c.cutForRoom(i, memory, lack)
		default:
			c.shown.add(p.item.ID)
			c.take(&p, room)
		}
	}
}

// try renders a candidate. lack says what is missing for it to fit; "" if it fits. It cuts a
// candidate that can't be loaded or is a duplicate.
func (c *composer) try(i int32, memory bool, room int) (p piece, lack string, dup, ok bool) {
	keep := memory && c.o.Cache.keeps(&c.candidates[i])
	if keep {
		if r := c.o.Cache.get(c.key(i)); r != nil {
			p = r.as(&c.candidates[i].Item)
			lack, dup = c.judge(i, &p, r.words, room)
			return p, lack, dup, true
		}
	}
	e, ok := c.load(i, memory, room)
	if !ok {
		return p, "", false, false
	}
	if keep { // cached even if it does not fit now, so that it need not be loaded again to find that out
		e.clean()
		p = e.piece(0)
		words := c.shown.read(&p.item)
		c.o.Cache.put(c.key(i), &p, words)
		lack, dup = c.judge(i, &p, words, room)
		return p, lack, dup, true
	}
	p, lack, dup = c.fit(i, &e, room)
	if lack != "" && !memory && e.item.Kind == ken.KindDocument && c.o.Excerpt != nil && room >= leastExcerpt {
		e.item.Text = e.excerpt(&c.o, min(room, cmp.Or(e.most, c.o.MaxItemChars))-e.overhead())
		p, lack, dup = c.fit(i, &e, room)
	}
	if lack != "" && memory && e.item.Kind == ken.KindPlaybook {
		e.whole, e.item.Text = e.item.Text, pointer(&e.item, c.o.Show)
		p, lack, dup = c.fit(i, &e, room)
	}
	return p, lack, dup, true
}

// fit renders an item and checks whether it fits.
func (c *composer) fit(i int32, e *entry, room int) (p piece, lack string, dup bool) {
	if len(e.item.Text) > room {
		if n := utf8.RuneCountInString(e.item.Text); n > room {
			return p, size(n, " characters, ", room), false
		}
	}
	e.clean()
	p = e.piece(0)
	if p.item.Chars > room {
		return p, size(p.item.Chars, " characters, ", room), false
	}
	lack, dup = c.judge(i, &p, c.shown.read(&p.item), room)
	if lack == "" && !dup && e.whole != "" && c.o.Seen != nil && c.o.Seen(p.item.ID, e.shownWhole()) {
		c.cut(i, ken.CutDuplicate, "in the context already, whole")
		dup = true
	}
	return p, lack, dup
}

// judge returns what is missing for an item to fit; "" if it fits. It cuts duplicates. words are
// the item's words.
func (c *composer) judge(i int32, p *piece, words []uint64, room int) (lack string, dup bool) {
	if p.item.Chars > room {
		return size(p.item.Chars, " characters, ", room), false
	}
	if !c.fresh(i, p, words) {
		return "", true
	}
	if c.o.Tokens > 0 {
		if p.tokens = c.count(p.text); p.tokens > c.tokens {
			return size(p.tokens, " tokens, ", c.tokens), false
		}
	}
	return "", false
}

func size(need int, unit string, left int) string {
	return strconv.Itoa(need) + unit + strconv.Itoa(left) + " left"
}

// cutForRoom cuts a candidate that does not fit, unless it may be tried again as memory.
func (c *composer) cutForRoom(i int32, memory bool, detail string) {
	if !memory && c.candidates[i].OrMemory {
		c.spilled = append(c.spilled, i)
		return
	}
	c.cut(i, ken.CutBudget, detail)
}

func (c *composer) take(p *piece, room *int) {
	*room -= p.item.Chars
	c.tokens -= p.tokens
	c.block.Items = append(c.block.Items, p.item)
	c.texts = append(c.texts, p.text)
}

// fresh reports whether neither the block nor the conversation has the item; otherwise it cuts the
// item. A caller that takes the item must call c.shown.add.
func (c *composer) fresh(i int32, p *piece, words []uint64) bool {
	if other, dup := c.shown.duplicateOf(p.item.ID, words); dup {
		c.cut(i, ken.CutDuplicate, other)
		return false
	}
	if c.o.Seen != nil && p.item.NewStatus == "" && c.o.Seen(p.item.ID, p.item.Text) {
		c.cut(i, ken.CutDuplicate, "in the context already")
		return false
	}
	return true
}

func (c *composer) cut(i int32, why ken.CutReason, detail string) {
	if c.block.Cut == nil {
		c.block.Cut = make([]ken.Cut, 0, len(c.candidates))
	}
	c.block.Cut = append(c.block.Cut, ken.Cut{ID: c.candidates[i].Item.ID, Reason: why, Detail: detail})
}

// load loads a candidate and shortens its text for a part of the block, with room code points left.
func (c *composer) load(i int32, memory bool, room int) (entry, bool) {
	cand := &c.candidates[i]
	item := cand.Item
	session := ""
	if cand.Load != nil {
		claim, err := c.claim(cand)
		if err != nil {
			why := ken.CutLate
			if errors.Is(err, ken.ErrNotFound) {
				why = ken.CutStatus
			}
			c.cut(i, why, "load: "+err.Error())
			return entry{}, false
		}
		complete(&item, &claim)
		session = claim.Session
	}
	e := entry{item: item, short: c.short[i], memory: memory, most: cand.MaxChars, full: item.Text}
	e.show(&c.o, session, room)
	if e.item.Text == "" {
		c.cut(i, ken.CutFloor, "no text to show")
		return entry{}, false
	}
	return e, true
}

// show sets the item's text to the part of it that is shown, with room code points left. session is
// the claim's session.
func (e *entry) show(o *Options, session string, room int) {
	item := e.item
	switch kind := item.Kind; {
	case isCheckpoint(&item, e.memory):
		e.clean()
		e.item.Text = body(item.Text, max(1, min(o.MaxItemChars, room-e.overhead())))
	case e.memory && kind == ken.KindPlaybook:
		e.item.Text = method(&item, o.PlaybookChars, o.Show)
	case e.memory && kind == ken.KindEpisode:
		e.whole = body(item.Text, o.MaxItemChars)
		e.item.Text = digest(body(item.Text, digestSource))
		e.item.Source = attributed(item.Source, session)
	case kind == ken.KindDocument:
		e.item.Text = e.excerpt(o, cmp.Or(e.most, o.MaxItemChars))
	default:
		e.item.Text = body(item.Text, cmp.Or(e.most, o.MaxItemChars))
	}
}

// leastExcerpt is the minimum room, in code points, for which a document is shortened.
const leastExcerpt = 400

// excerpt returns the part of the full text that is relevant to the turn, at most most code points.
func (e *entry) excerpt(o *Options, most int) string {
	if o.Excerpt == nil {
		return body(e.full, most)
	}
	return body(o.Excerpt(e.full, most), most)
}

// claim loads a candidate's claim, until ctx ends or, for a constraint, until Grace is over.
func (c *composer) claim(cand *Candidate) (claim ken.Claim, err error) {
	if err = c.ctx.Err(); err == nil {
		if claim, err = cand.Load(c.ctx); err == nil || c.ctx.Err() == nil {
			return claim, err
		}
	}
	if !cand.Item.Constraint {
		return claim, err
	}
	if c.grace == nil {
		c.grace, c.cancelGrace = context.WithTimeout(context.WithoutCancel(c.ctx), grace)
	}
	if err := c.grace.Err(); err != nil {
		return claim, err
	}
	return cand.Load(c.grace)
}

func isCheckpoint(it *ken.Item, memory bool) bool { return memory && it.Kind == KindCheckpoint }

func (c *composer) finish() Block {
	b := &c.block
	b.Text = c.write()
	// Tokens were summed per part. If the whole block has more, which is very rare with tokenizers,
	// the last items are removed.
	for c.o.Tokens > 0 && c.count(b.Text) > c.o.Tokens {
		last := len(b.Items) - 1
		if last < 0 {
			b.Text = ""
			break
		}
		item := &b.Items[last]
		b.Cut = append(b.Cut, ken.Cut{ID: item.ID, Reason: ken.CutBudget, Detail: "the whole block had too many tokens"})
		if item.Constraint {
			b.OverflowedConstraints++
			c.room += item.Chars
			c.warn = c.warn || c.room >= len(overflowLine(b.OverflowedConstraints))
		}
		b.Items, c.texts = b.Items[:last], c.texts[:last]
		b.Text = c.write()
	}
	if b.Text != "" && c.o.Count != nil {
		b.Tokens = c.o.Count(b.Text)
	}
	b.Chars = utf8.RuneCountInString(b.Text)
	return *b
}

func (c *composer) write() string {
	if len(c.texts) == 0 && !c.warn {
		return ""
	}
	warning := ""
	if c.warn {
		warning = overflowLine(c.block.OverflowedConstraints)
	}
	return framed(warning, c.texts)
}

// framed returns the block with these items, headers included.
func framed(warning string, texts []string) string {
	size := len(preamble) + len(warning) + len(closing)
	for _, t := range texts {
		size += len(t)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(preamble)
	b.WriteString(warning)
	for _, t := range texts {
		b.WriteString(t)
	}
	b.WriteString(closing)
	return b.String()
}

// Limits of a digest, which is about what a person would mention of a past session. Three digests
// take a quarter of the memory part.
const (
	digestChars  = 700
	digestLines  = 10
	digestLine   = 60               // minimum length of a line; if more is needed, the last lines are dropped
	digestSource = 20 * digestChars // the part of an episode from which the digest is made
)

// digest shortens an episode to its first few lines, all limited to the same length, so that a long
// line does not displace the others. It leaves out what the assistant said: the summary has the
// results, and models imitate an assistant's prose in a later prompt.
func digest(text string) string {
	lines := withoutAssistant(text)
	lines = lines[:min(len(lines), digestLines)]
	sizes := make([]int, len(lines))
	for i, l := range lines {
		sizes[i] = utf8.RuneCountInString(l) + 1
	}
	most := fairShare(sizes, digestChars)
	left := digestChars
	var b strings.Builder
	for _, l := range lines {
		l = excerpt(l, most-1)
		if left -= utf8.RuneCountInString(l) + 1; left < 0 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l)
	}
	return b.String()
}

// fairShare returns the largest limit for single sizes at which their total is at most total.
func fairShare(sizes []int, total int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		if share := total / (len(sorted) - i); n > share {
			return max(share, digestLine)
		}
		total -= n
	}
	return digestChars
}

// withoutAssistant returns the non-empty lines of a text without those spoken by the assistant:
// from a line that begins with its name to the next line that begins with another label, or to an
// empty line.
func withoutAssistant(text string) []string {
	var out []string
	speaking := false
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimSpace(l)
		switch label := labelOf(l); {
		case l == "":
			speaking = false
			continue
		case assistants[label]:
			speaking = true
		case label != "", strings.HasPrefix(l, "#"):
			speaking = false
		}
		if !speaking {
			out = append(out, l)
		}
	}
	return out
}

var assistants = map[string]bool{"assistant": true, "ai": true, "bot": true, "agent": true}

// labelOf returns the text before a line's colon, in lower case, if it may be a speaker or a
// section: one or two words, with any markup.
func labelOf(l string) string {
	head, _, ok := strings.Cut(strings.Replace(l, "：", ":", 1), ":")
	if !ok || len(head) > 60 {
		return ""
	}
	head = strings.TrimFunc(head, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if head == "" || strings.Count(head, " ") > 3 {
		return ""
	}
	return strings.ToLower(head)
}

// attributed returns a source of an episode that names its session.
func attributed(source, session string) string {
	switch {
	case session == "" || strings.Contains(source, session):
		return source
	case source == "" || strings.HasPrefix(source, "session"): // the date is in the header too
		return "session " + session
	}
	return source + ", session " + session
}
