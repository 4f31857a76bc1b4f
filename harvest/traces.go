package harvest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// Traces recognises a claim that is to be forgotten wherever it is said: word for
// word, in a quote of its evidence, in a retelling that adds nothing, or by what
// points at a person and nobody else says by chance (an address with an @, a number
// of at least seven digits). Retellings that share none of that are not recognised.
// It is safe for concurrent use.
type Traces struct {
	phrases  []string // folded
	marks    []string // folded
	echo     *consolidate.Echo
	sources  map[[2]string]bool // session and message that it was drawn from
	sessions []string           // that go whole
	entities []string           // that it was filed under, folded
	given    map[string]bool    // sessions that were given it
	names    func(string) bool  // reports a text of those that names what it names; nil for none
}

// shortest is how many bytes a phrase has at least to be looked for within a text;
// a shorter one, such as "yes", may stand anywhere, and is only compared.
const (
	shortest    = 12
	leastDigits = 7 // of a number that is nobody else's
)

// NewTraces reads what a claim says. Of an episode the whole session is a trace.
func NewTraces(c *ken.Claim) *Traces {
	t := &Traces{sources: map[[2]string]bool{}}
	add := func(s string) {
		if s = folded(s); s != "" && !slices.Contains(t.phrases, s) {
			t.phrases = append(t.phrases, s)
		}
	}
	add(c.Text)
	for _, e := range c.Entities {
		t.entities = append(t.entities, folded(e))
	}
	for _, e := range c.Evidence {
		if e.Kind != ken.EvidenceMessage && e.Kind != ken.EvidenceUserStatement {
			continue
		}
		add(e.Detail)
		if e.SessionID != "" && e.MessageID != "" && c.Kind != ken.KindEpisode {
			t.sources[[2]string{e.SessionID, e.MessageID}] = true
		}
	}
	if c.Kind == ken.KindEpisode && c.Session != "" {
		t.sessions = append(t.sessions, c.Session)
		t.echo = consolidate.NewEcho(nil) // each of its sentences stands in many a text
		return t
	}
	for w := range strings.FieldsSeq(strings.Join(t.phrases, " ")) {
		if w = strings.TrimFunc(w, func(r rune) bool { return unicode.IsPunct(r) && r != '@' }); points(w) {
			t.marks = append(t.marks, w)
		}
	}
	t.echo = consolidate.NewEcho([]session.Injection{{ID: "it", Text: c.Text}})
	return t
}

// Give has it recognise, in sessions whose models were given the claim, what has words that
// the claim alone had: a call with its number in it, or what came of one. It is called
// before the traces are used.
func (t *Traces) Give(sessions []string, names func(string) bool) {
	t.given, t.names = map[string]bool{}, names
	for _, id := range sessions {
		t.given[id] = true
	}
}

// Given are the sessions that were given it.
func (t *Traces) Given() []string { return slices.Collect(maps.Keys(t.given)) }

// Gave reports whether a session was given it.
func (t *Traces) Gave(session string) bool { return t.given[session] }

// inOf is In for a text of a session.
func (t *Traces) inOf(session string) func(string) bool {
	if t.names == nil || !t.given[session] {
		return t.In
	}
	return func(text string) bool { return t.names(text) || t.In(text) }
}

// Kept reports whether a text that may be of any session says or names it: for what is
// kept of turns.
func (t *Traces) Kept(text string) bool { return t.names != nil && t.names(text) || t.In(text) }

// dated is a day, which points at nobody.
var dated = lazyregexp.New(`^\d{4}[-/.]\d\d[-/.]\d\d`)

// points reports a word that names one person or thing.
func points(w string) bool {
	digits := 0
	for _, r := range w {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= leastDigits && !dated.MatchString(w) || strings.Contains(strings.Trim(w, "@"), "@")
}

// In reports whether a text says it.
func (t *Traces) In(text string) bool {
	whole := folded(text)
	for _, p := range t.phrases {
		if whole == p || len(p) >= shortest && strings.Contains(whole, p) {
			return true
		}
	}
	for _, m := range t.marks {
		if strings.Contains(whole, m) {
			return true
		}
	}
	return slices.ContainsFunc(sentences(text), func(s string) bool { _, again := t.echo.Repeats(s); return again })
}

// Message reports a message that says it, or that it was drawn from.
func (t *Traces) Message(id string, e *session.Entry) bool {
	return t.message(id, e, t.inOf(id))
}

// Said is Message for what says it, apart from what only names what it names.
func (t *Traces) Said(id string, e *session.Entry) bool { return t.message(id, e, t.In) }

func (t *Traces) message(id string, e *session.Entry, in func(string) bool) bool {
	if slices.Contains(t.sessions, id) || t.sources[[2]string{id, e.ID()}] || in(e.Message.Text) {
		return true
	}
	return slices.ContainsFunc(e.Message.ToolCalls, func(c ken.ToolCall) bool { return inJSON([]byte(c.Arguments), in) })
}

// Claim reports a claim that says it in any of its fields.
func (t *Traces) Claim(c *ken.Claim) bool {
	texts := append([]string{c.Text, c.Heading}, c.Entities...)
	for _, e := range c.Evidence {
		texts = append(texts, e.Detail)
	}
	in := t.inOf(c.Session)
	return slices.ContainsFunc(texts, in) || inJSON(c.Body, in)
}

// inJSON reports whether in is true of any string of a JSON value.
func inJSON(raw []byte, in func(string) bool) bool {
	var v any
	if len(raw) == 0 {
		return false
	}
	if json.Unmarshal(raw, &v) != nil {
		return in(string(raw))
	}
	return inValue(v, in)
}

func inValue(v any, in func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return in(v)
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return inValue(x, in) })
	case map[string]any:
		for k, x := range v {
			if in(k) || inValue(x, in) {
				return true
			}
		}
	}
	return false
}

// Without returns an episode as a new claim that says the rest of it; false when
// nothing is left that is worth a claim.
func (t *Traces) Without(c *ken.Claim) (ken.Claim, bool) {
	out, in := *c, t.inOf(c.Session)
	out.ID, out.Supersedes, out.SupersededBy = "", "", ""
	var lines []string
	told := 0
	for line := range strings.Lines(c.Text) {
		line = strings.TrimRight(line, "\n")
		kept := slices.DeleteFunc(sentences(line), in)
		if rest := strings.Join(kept, " "); rest != "" && !in(rest) {
			lines = append(lines, rest)
			told += len(kept)
		}
	}
	out.Text = strings.Join(lines, "\n")
	if in(c.Heading) {
		out.Heading = "Session"
	}
	out.Evidence = slices.Clone(c.Evidence)
	for i := range out.Evidence {
		if in(out.Evidence[i].Detail) {
			out.Evidence[i].Detail = ""
		}
	}
	// What it was about was read from the whole of it, and from the session: a name of the
	// claim stays only where the rest says it.
	out.Entities = slices.DeleteFunc(slices.Clone(c.Entities), func(e string) bool {
		name := folded(e)
		return (slices.Contains(t.entities, name) || t.names != nil && t.names(e) || slices.ContainsFunc(t.phrases, func(p string) bool { return strings.Contains(p, name) })) &&
			!strings.Contains(folded(out.Heading+" "+out.Text), name)
	})
	if inJSON(c.Body, in) {
		var b EpisodeBody
		if json.Unmarshal(c.Body, &b) != nil {
			return out, false
		}
		b.Files, b.Open = slices.DeleteFunc(b.Files, in), slices.DeleteFunc(b.Open, in)
		if in(b.Note) {
			b.Note = ""
		}
		out.Body, _ = json.Marshal(b) // strings, numbers and times always can be
	}
	return out, told > 1 && !t.Claim(&out)
}

// folded is a text apart from case and white space.
func folded(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// sentences splits a text at line breaks and where a sentence ends, roughly.
func sentences(text string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		start := 0
		for i, r := range line {
			end := i + len(string(r))
			if !strings.ContainsRune(".!?;。！？", r) || end < len(line) && line[end] != ' ' && r < 0x80 {
				continue
			}
			if s := strings.TrimSpace(line[start:end]); s != "" {
				out = append(out, s)
			}
			start = end
		}
		if s := strings.TrimSpace(line[start:]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// pendingWrite is what is to be written of one claim.
type pendingWrite struct {
	id string                                       // the claim's, where it is known already; "" for one that is left out
	do func(context.Context) (id string, err error) // nil: nothing
}

func (r *harvestRun) written(c *ken.Claim) pendingWrite {
	return pendingWrite{do: func(ctx context.Context) (string, error) { return r.o.Store.WriteClaim(ctx, *c) }}
}

func (r *harvestRun) reinforced(id string, evidence []ken.Evidence) pendingWrite {
	return pendingWrite{id: id, do: func(ctx context.Context) (string, error) {
		return id, r.o.Store.Reinforce(ctx, id, evidence, r.actor())
	}}
}

// writers is how many claims are written at once: the store commits together what
// comes together, and a commit's sync to the disk is what takes the time.
const writers = 16

// write writes claims of which none is about another: each has a key of its own.
// It returns the ids of what is known now, in their order, each once.
func (r *harvestRun) write(ctx context.Context, what string, claims []ken.Claim, plan func(context.Context, *ken.Claim) (pendingWrite, error)) (ids []string, err error) {
	steps := make([]pendingWrite, len(claims))
	for i := range claims {
		if steps[i], err = plan(ctx, &claims[i]); err != nil {
			return nil, fmt.Errorf("look up a %s: %w", what, err)
		}
	}
	errs := make([]error, len(steps))
	room := make(chan struct{}, writers)
	var all sync.WaitGroup
	for i := range steps {
		if steps[i].do == nil {
			continue
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = caught.Run(func() (err error) {
				steps[i].id, err = steps[i].do(ctx)
				return err
			})
		})
	}
	all.Wait()
	for i := range steps {
		switch {
		case errs[i] != nil && !r.refused(what, errs[i]):
			return ids, fmt.Errorf("write a %s: %w", what, errs[i])
		case errs[i] == nil && steps[i].id != "":
			add(&ids, steps[i].id)
		}
	}
	return ids, nil
}
