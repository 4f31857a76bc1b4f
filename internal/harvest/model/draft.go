package model

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"text/template"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// ErrUnusable is wrapped by the error of a Draft if the model's answer can't be used, and
// its second answer after a list of faults can't either.
var ErrUnusable = errors.New("the model's answer can't be used")

// Without describes what is missed if no model is configured.
const Without = "no model is configured: rules extract and file, and miss rules that are said indirectly, what is told in other words, and most languages"

// Stages that Draft reports to progress.
const (
	StageExtract = "extract" // done and total count parts of the transcript
	StageMerge   = "merge"   // the one call that merges the summaries of the parts
)

// Draft extracts a draft of a session. It makes one call for each part of the transcript,
// and one for the summary if there are several parts. Each call may be repeated once to have
// a faulty answer repaired. The first call of a Client may be repeated to find out which
// format the endpoint supports. Nothing else is sent twice.
//
// The statements are in the order of the transcript, and their quotes are text of the
// messages. Dropped counts the dropped facts by the Drop reasons; with the statements, these
// are all facts of the answers that were used. Sort and text are the model's: only the quote
// is proven. The summary has no sentence with a name or a number that nobody said, and may
// therefore be empty. For a transcript without a readable message the draft is empty except
// for Model, and nothing is sent.
//
// progress may be nil. It is called from this goroutine before the first part and after
// each.
//
// Errors are *ken.Error. Code unavailable means that the endpoint is down, slow or throttled
// (with an *embed.Throttled if it said how long), or that ctx ended (with its cause); a
// retry may succeed. Code invalid means that key, model or address are wrong, or that the
// answer can't be used (ErrUnusable).
func (c *Client) Draft(ctx context.Context, tr *session.Transcript, progress func(stage string, done, total int)) (draft.Draft, error) {
	d := draft.Draft{Model: c.opts.Model}
	if err := c.check(); err != nil {
		return draft.Draft{}, err
	}
	all := messages(tr)
	if len(all) == 0 {
		return d, nil
	}
	if progress == nil {
		progress = func(string, int, int) {}
	}
	t := c.task("extract")
	room, reserve := c.budget(t)
	parts := c.cut(all, room)
	for shown := toolChars / 2; len(parts) > 1 && shown >= leastToolChars; shown /= 2 { // one request is enough for most sessions
		for i := range all {
			all[i].shown = shown
		}
		parts = c.cut(all, room)
	}
	checker := newFactChecker(c.opts, all)
	var summaries []string
	progress(StageExtract, 0, len(parts))
	for i, p := range parts {
		shown := make(map[uint64]bool, len(p.messages))
		for _, m := range p.messages {
			shown[m.seq] = true
		}
		user := p.request(i, len(parts), c.before(summaries, c.opts.Window/16))
		a, err := c.answer(ctx, t, user, reserve, func(seq uint64) bool { return shown[seq] })
		if err != nil {
			return draft.Draft{}, err
		}
		checker.add(a.facts)
		if s := checker.summary(a.summary); s != "" {
			summaries = append(summaries, shortSummary(s, summaryChars))
		}
		c.opts.Log.LogAttrs(ctx, slog.LevelDebug, "extracted a part of a session", slog.String("session", tr.Info.ID),
			slog.Int("part", i+1), slog.Int("of", len(parts)), slog.Int("messages", len(p.messages)), slog.Int("facts", len(a.facts)))
		progress(StageExtract, i+1, len(parts))
	}
	var err error
	if d.Summary, err = c.merge(ctx, summaries, reserve, progress); err != nil {
		return draft.Draft{}, err
	}
	if len(summaries) > 1 {
		d.Summary = checker.summary(d.Summary)
	}
	d.Statements = checker.best()
	if len(checker.dropped) > 0 {
		d.Dropped = maps.Clone(checker.dropped)
	}
	return d, nil
}

// merge makes one summary of the parts' summaries. If the model can't, they are joined: a
// poor summary is better than losing the facts.
func (c *Client) merge(ctx context.Context, summaries []string, reserve int, progress func(string, int, int)) (string, error) {
	switch len(summaries) {
	case 0:
		return "", nil
	case 1:
		return summaries[0], nil
	}
	progress(StageMerge, 0, 1)
	t := c.task("merge")
	room := max(c.opts.Window-estimate(t.system(true))-150-2*reserve, c.opts.Window/4)
	each := room/len(summaries) - 8 // the line before each
	short := make([]string, len(summaries))
	for i, s := range summaries {
		short[i] = c.shortTokens(s, max(each, 8))
	}
	a, err := c.answer(ctx, t, mergeRequest(short), reserve, nil)
	switch {
	case errors.Is(err, ErrUnusable):
		c.opts.Log.LogAttrs(ctx, slog.LevelWarn, "the model did not merge the summaries; they are joined", slog.Int("parts", len(summaries)))
		a = &answer{summary: c.joinedSummary(summaries)}
	case err != nil:
		return "", err
	}
	progress(StageMerge, 1, 1)
	return shortSummary(a.summary, summaryChars), nil
}

// answer requests an answer to a task. If it has faults, answer requests it again with a
// list of them. Of two faulty answers, the last usable one is returned.
func (c *Client) answer(ctx context.Context, t task, user string, reserve int, inRange func(uint64) bool) (*answer, error) {
	talk := []turn{{"user", user}}
	text, cut, err := c.ask(ctx, t, talk)
	if err != nil {
		return nil, err
	}
	first := read(text, inRange)
	if len(first.problems) == 0 {
		return first, nil
	}
	if cut {
		first.problems = append(first.problems, "it was cut off because it was too long: report less")
	}
	c.opts.Log.LogAttrs(ctx, slog.LevelInfo, "the model's answer has faults and is requested again", slog.String("task", t.name), slog.Int("problems", len(first.problems)))
	talk = append(talk, turn{"assistant", c.shown(text, reserve)}, turn{"user", repair(first.problems)})
	if text, _, err = c.ask(ctx, t, talk); err != nil {
		return nil, err
	}
	second := read(text, inRange)
	switch {
	case second.usable():
		return second, nil
	case first.usable():
		return first, nil
	}
	return nil, c.unusable("answered twice in another form than requested: " + second.first())
}

// unusable returns the error for an answer that is not in the form that was requested. did contains no
// text of the session.
func (c *Client) unusable(did string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: c.opts.Model + " " + did,
		Try: "Set " + fieldModel + " to a model that follows a JSON schema, or leave it empty to extract by rules.", Err: ErrUnusable}
}

// first returns the first problem of an answer, for an error.
func (a *answer) first() string {
	if len(a.problems) > 0 {
		return a.problems[0]
	}
	return "every fact is malformed"
}

// shown returns an answer as it is sent back to the model. It is never empty, which some
// endpoints refuse, and has at most room tokens.
func (c *Client) shown(text string, room int) string {
	if text == "" {
		return "(nothing)"
	}
	return c.shortTokens(text, room)
}

// shortTokens cuts the middle of a text that has more than room tokens.
func (c *Client) shortTokens(text string, room int) string {
	out, n := text, estimate(text)
	for keep := len([]rune(text)); n > room && keep > 0; n = estimate(out) {
		keep = min(keep*9/10, int(float64(keep)*0.95*float64(room)/float64(n)))
		out = middle(text, keep)
	}
	return out
}

// leastToolChars is the minimum length to which the text of a tool is shortened, in
// characters.
const leastToolChars = 200

// part is the part of a transcript that one request carries.
type part struct {
	messages []message // a subslice of the transcript's messages
	text     string    // rendered, without the frame
}

// budget returns how many tokens of transcript one request can carry, and how many are
// reserved for the answer.
//
// A request holds the rules, the summary so far, the transcript and, in a repair, the faulty
// answer. The model's new answer needs room too.
func (c *Client) budget(t task) (transcript, answer int) {
	w := c.opts.Window
	answer = min((c.opts.MaxFacts*(c.opts.FactChars+200)+summaryChars)/3, w/5)
	const frame = 150 // the lines of the frame, and the tokens that a chat format adds
	transcript = w - estimate(t.system(true)) - frame - w/16 - 2*answer
	return max(transcript, w/4), answer
}

// cut splits a transcript between messages into parts of at most room tokens. A message that
// is longer than a part is shortened in its middle.
func (c *Client) cut(all []message, room int) []part {
	var parts []part
	var b strings.Builder
	first, used, day := 0, 0, ""
	flush := func(next int) {
		if next > first {
			parts = append(parts, part{all[first:next:next], b.String()})
		}
		b.Reset()
		first, used, day = next, 0, ""
	}
	for i := range all {
		m := &all[i]
		head := estimate(m.header(""))
		body, n := c.body(m, max(room-head, 1))
		if used > 0 && used+head+n > room {
			flush(i)
		}
		b.WriteString(m.header(day))
		b.WriteString(body)
		used, day = used+head+n, m.day
	}
	flush(len(all))
	return parts
}

// request returns the user message for a part. before is the summary of the parts before it.
func (p *part) request(i, n int, before string) string {
	var b strings.Builder
	if n > 1 {
		fmt.Fprintf(&b, "This is part %d of %d of the session.\n", i+1, n)
	}
	if before != "" {
		b.WriteString("What the parts before it came to, to understand this one and not to report again:\n")
		b.WriteString(quoted(before))
	}
	b.WriteString(transcriptOpen + "\n" + p.text + transcriptClose + "\n")
	fmt.Fprintf(&b, "Report on messages %d to %d as one JSON object.", p.messages[0].seq, p.messages[len(p.messages)-1].seq)
	return b.String()
}

// mergeRequest returns the user message that asks for one summary of several.
func mergeRequest(summaries []string) string {
	var b strings.Builder
	b.WriteString(partsOpen + "\n")
	for i, s := range summaries {
		fmt.Fprintf(&b, "=== part %d ===\n%s", i+1, quoted(s))
	}
	b.WriteString(partsClose + "\nReport one JSON object with the summary of the whole.")
	return b.String()
}

// files holds the prompts. They are files, so that a change to one is reviewed as a change
// in behaviour. No prompt contains their delimiters. Text of a session is never passed to a
// template.
//
//go:embed prompts
var files embed.FS

var prompts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Delims("<%", "%>").ParseFS(files, "prompts/*.txt"))
})

// task is a kind of request: the rules, and the schema of the answer.
type task struct {
	name        string
	rules       string
	schema      json.RawMessage
	temperature float64 // temperature
}

// task returns the task with that name, with the Client's limits in its rules.
func (c *Client) task(name string) task {
	schema, err := files.ReadFile("prompts/" + name + ".json")
	if err != nil {
		panic(err) // names are constants
	}
	limits := struct {
		Options
		SummaryChars int
	}{c.opts, summaryChars}
	return task{name: name, rules: fill(name, limits), schema: schema, temperature: minTemperature}
}

// system returns the system message: the rules, and the schema if it is not sent separately.
func (t task) system(withSchema bool) string {
	if !withSchema {
		return t.rules
	}
	return t.rules + fill("schema", struct{ Schema string }{strings.TrimSpace(string(t.schema))})
}

// repair returns the message that asks for the answer again.
func repair(problems []string) string {
	return fill("repair", struct{ Problems []string }{problems})
}

func fill(name string, data any) string {
	var b strings.Builder
	if err := prompts().ExecuteTemplate(&b, name+".txt", data); err != nil {
		panic(err) // prompts and data are constant
	}
	return b.String()
}

// IsOwnRequest reports whether a text is a request of this package or of the filing. Such a
// text appears in a session if the harvesting program's requests pass through the layer
// itself.
func IsOwnRequest(text string) bool {
	head := strings.TrimSpace(text)
	for _, begin := range []string{"You read a finished session between a user and an AI agent", "You are given summaries of the parts of one session", "You file facts about things. The input is a JSON object", "You compare what is known with what was said later. The input is a JSON object"} {
		if strings.HasPrefix(head, begin) {
			return true
		}
	}
	return strings.HasPrefix(head, transcriptOpen+"\n=== message ")
}

// Question is a request for JSON about something other than a session.
type Question struct {
	Name        string          // name of the answer's format, for the endpoint: letters, digits and underscores
	System      string          // the rules
	User        string          // the data
	Schema      json.RawMessage // JSON schema of the answer
	Temperature float64         // 0..2; 0 is the lowest
}

// Ask sends one question and returns the model's text unchanged. It may be anything; the
// caller must parse it. If an endpoint refuses the schema or the temperature, Ask repeats
// the request without, as Draft does. Errors are those of Draft, without ErrUnusable.
func (c *Client) Ask(ctx context.Context, q Question) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if !json.Valid(q.Schema) {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "schema", Msg: "not valid JSON", Try: "Give a JSON schema."}
	}
	t := task{name: q.Name, rules: q.System, schema: q.Schema, temperature: max(q.Temperature, minTemperature)}
	text, _, err := c.ask(ctx, t, []turn{{"user", q.User}})
	return text, err
}
