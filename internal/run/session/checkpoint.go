package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Bounds of a checkpoint. It is read again with every recovered turn, so it is
// small; what is oldest goes first.
const (
	maxListed = 10 // of entities, of files and of constraints
	maxOpen   = 5
	maxPoint  = 300 // characters of one string
)

// Digest returns where a session stands after entries, of which those that prev
// covers are passed over. prev is nil at the start, step is what the turn itself
// adds. It is a pure function, and rules make it, no model:
//
//   - The goal is the user's first request that says something, in the user's
//     words, until one turns to something else: see turnsAway.
//   - Files are those of tool calls that name one in their arguments, and those
//     that entries were annotated with.
//   - A question of the user is open until the assistant says something without
//     calling a tool.
//   - The last step is the assistant's last statement or call.
func Digest(prev *Checkpoint, entries []Entry, step *Step, now time.Time) Checkpoint {
	var c Checkpoint
	if prev != nil {
		c = *prev
	}
	for i := range entries {
		e := &entries[i]
		if e.Seq <= c.Seq {
			continue
		}
		c.Seq = e.Seq
		switch e.Message.Role {
		case "user":
			c.addUserMessage(e.Message.Text)
		case "assistant":
			c.addAssistantMessage(&e.Message)
		}
		for _, path := range filesOf(e) {
			c.Files = prependNew([]string{path}, c.Files)
		}
	}
	c.At = later(now.Round(0).UTC(), c.At)
	c.Entities = prependNew(step.Signals.Entities, c.Entities)
	c.Files = prependNew(nil, c.Files)
	c.Constraints = prependNew(step.Constraints, c.Constraints)
	c.Focal, c.Aspects = prependNew(step.Focal, c.Focal), prependNew(step.Aspects, c.Aspects)
	c.Open = slices.Clone(c.Open)
	return c
}

// addUserMessage updates the checkpoint with a message of the user.
func (c *Checkpoint) addUserMessage(text string) {
	text = prose(text)
	if c.isNewGoal(text) {
		c.Goal = checkpointLine(text)
	}
	for _, s := range sentences(text) {
		if isQuestion(s) && !slices.Contains(c.Open, checkpointLine(s)) {
			c.Open = append(slices.Clone(c.Open), checkpointLine(s))
		}
	}
	if n := len(c.Open) - maxOpen; n > 0 {
		c.Open = c.Open[n:]
	}
}

// addAssistantMessage updates the checkpoint with a message or tool call of the assistant.
func (c *Checkpoint) addAssistantMessage(m *ken.Message) {
	if n := len(m.ToolCalls); n > 0 {
		c.LastStep = checkpointLine(describe(&m.ToolCalls[n-1]))
		return
	}
	said := sentences(prose(m.Text))
	if len(said) == 0 {
		return
	}
	c.Open = nil
	last := said[len(said)-1]
	for i := len(said) - 1; i >= 0; i-- { // "Anything else?" says nothing of what was done
		if !question(said[i]) {
			last = said[i]
			break
		}
	}
	c.LastStep = checkpointLine(last)
}

// prependNew puts what is new before what was there, each once, at most maxListed.
func prependNew(first, rest []string) []string {
	var out []string
	for _, list := range [][]string{first, rest} {
		for _, s := range list {
			s = checkpointLine(s)
			same := func(o string) bool { return strings.EqualFold(o, s) }
			if s != "" && len(out) < maxListed && !slices.ContainsFunc(out, same) {
				out = append(out, s)
			}
		}
	}
	return out
}

// checkpointLine is a string as a checkpoint has it: one line of at most 300 characters.
func checkpointLine(s string) string { return clip(strings.Join(strings.Fields(s), " "), maxPoint) }

// clip cuts a line to n characters, at a word's end if one is near.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 2 {
		return ""
	}
	end := n - 1
	for i := end; i > end*3/4; i-- {
		if r[i] == ' ' {
			end = i
			break
		}
	}
	return strings.TrimRight(string(r[:end]), " ,;:") + "…"
}

// A request has at least so many terms: "fix it" says nothing by itself. One that
// turns away from a task says more of what it turns to, and one that says this much
// stands by itself.
const (
	firstTerms = 2
	turnTerms  = 3
	longTerms  = 20
)

// isNewGoal reports whether the user's text is the goal from now on. It is when it
// asks for something and there is no goal yet, when it says that it is about
// something else, and when it shares no term with the task so far (the goal, the
// open questions, files, entities and the last step) without pointing back at it.
// So "also add a test for that" stays with the task, and "write the release notes
// for June" leaves it.
func (c *Checkpoint) isNewGoal(text string) bool {
	terms := analysis.Terms(text)
	if len(terms) < firstTerms {
		return false
	}
	switch {
	case c.Goal == "":
		return !smallTalk(text)
	case len(terms) < turnTerms:
		return false
	case announcesOtherTask(text):
		return !smallTalk(text)
	case len(terms) < longTerms && pointsBack(text):
		return false
	}
	for _, list := range [][]string{{c.Goal, c.LastStep}, c.Open, c.Files, c.Entities} {
		for _, s := range list {
			if slices.ContainsFunc(analysis.Terms(s), func(t string) bool { return slices.Contains(terms, t) }) {
				return false
			}
		}
	}
	return !smallTalk(text)
}

func smallTalk(text string) bool {
	return !intent.Analyze([]ken.Message{{Role: "user", Text: text}}).Asks
}

// elsewhere are ways to say that what follows is another task.
var elsewhere = []string{"new task", "next task", "another task", "different task", "different topic", "another topic", "new topic",
	"something else", "something different", "something completely different", "switch to", "moving on", "move on to", "on another note", "unrelated"}

func announcesOtherTask(text string) bool {
	head := strings.ToLower(text[:min(len(text), 120)])
	return slices.ContainsFunc(elsewhere, func(s string) bool { return strings.Contains(head, s) })
}

// back are words that need what was said before. English only: elsewhere, terms
// alone decide. "This" is left out: what is pasted below is this as well.
var back = []string{"it", "its", "it's", "those", "them", "they", "also", "too", "again", "instead", "same", "still", "both", "above",
	"previous", "earlier", "then"}

// pointsBack looks at the first words: further on, such a word mostly points at
// something in the same message. "That" does so from the third word on.
func pointsBack(text string) bool {
	const first, firstThat = 12, 3
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for i, w := range words[:min(len(words), first)] {
		if slices.Contains(back, w) || w == "that" && (i < firstThat || i == len(words)-1) {
			return true
		}
	}
	return false
}

// prose is a text without what is between code fences.
func prose(s string) string {
	if !strings.Contains(s, "```") {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, "```") {
		if i%2 == 0 {
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// isQuestion reports a question that says what it asks: "ok?" does not.
func isQuestion(sentence string) bool {
	const leastBytes = 8 // of a single word
	return question(sentence) && len(analysis.Terms(sentence)) > 0 && (strings.Contains(sentence, " ") || len(sentence) > leastBytes)
}

func question(sentence string) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// sentences splits prose at line breaks, at marks that end a sentence in scripts
// without spaces, and at others when a space follows. A list's or a heading's marks
// go.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "#>*- \t")
		start := 0
		for i, r := range line {
			end := i + utf8.RuneLen(r)
			switch {
			case end == len(line):
			case strings.ContainsRune("。！？", r):
			case strings.ContainsRune(".!?", r) && line[end] == ' ':
			default:
				continue
			}
			if s := strings.TrimSpace(line[start:end]); s != "" {
				out = append(out, s)
			}
			start = end
		}
	}
	return out
}

// hookRunner calls the functions that a program registered for a session's actions, one call at a time, and
// waits for none longer than it may.
type hookRunner struct {
	wait      time.Duration
	log       *slog.Logger
	turn      chan struct{} // holds a token while no call runs
	abandoned atomic.Bool   // nobody waits any more for the call that runs
}

func newHookRunner(wait time.Duration, log *slog.Logger) *hookRunner {
	t := &hookRunner{wait: wait, log: log, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// call runs fn within the time there is, and otherwise leaves it to itself. While
// one that was left so still runs, the next ones are not tried: an action waits for
// a hanging logger once.
func (t *hookRunner) call(ctx context.Context, what string, a Action, fn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	if !t.take(ctx) {
		cancel()
		t.warn(what, a, fmt.Errorf("an earlier call has not returned"))
		return
	}
	done := make(chan error, 1)
	go func() {
		defer cancel()
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			done <- err
			t.abandoned.Store(false)
			t.turn <- struct{}{}
		}()
		err = fn(ctx)
	}()
	select {
	case err := <-done:
		t.warn(what, a, err)
	case <-ctx.Done():
		select {
		case err := <-done: // both at once
			t.warn(what, a, err)
		default:
			t.abandoned.Store(true)
			t.warn(what, a, fmt.Errorf("no answer: %w", ctx.Err()))
		}
	}
}

// take waits for the call that runs, unless nobody waits for that one any more.
func (t *hookRunner) take(ctx context.Context) bool {
	if t.abandoned.Load() {
		select {
		case <-t.turn:
			return true
		default:
			return false
		}
	}
	select {
	case <-t.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

// warn tells of an entry that may not be in the trail, with all that it says.
func (t *hookRunner) warn(what string, a Action, err error) {
	if err == nil {
		return
	}
	t.log.Warn(what, "cause", err, "event", a.Event, "claim_id", a.ClaimID, "claim_status", a.ClaimStatus,
		"evidence_count", a.EvidenceCount, "evidence_kinds", a.EvidenceKinds, "scope_type", a.ScopeType, "scope_id", a.ScopeID,
		"actor_type", a.ActorType, "actor_id", a.ActorID, "branch_id", a.BranchID, "session_id", a.SessionID, "timestamp", a.Timestamp)
}

// log tells the logger of an action that is about to be done.
func (s *Session) log(ctx context.Context, a Action) {
	if s.o.Logger != nil {
		s.trail.call(ctx, "log a knowledge action", a, func(ctx context.Context) error { return s.o.Logger(ctx, a) })
	}
}

// reject tells of a claim that was refused for want of evidence.
func (s *Session) reject(ctx context.Context, a Action, text string, err error) {
	if s.o.Rejected != nil {
		s.trail.call(ctx, "tell of a refused claim", a, func(ctx context.Context) error {
			s.o.Rejected(ctx, a, text, err)
			return nil
		})
	}
}

// Events of actions. The last three have no method here: whoever does that through the
// store logs it by this name.
const (
	EventLearn     = "knowledge.learn"
	EventVerify    = "knowledge.verify"
	EventDispute   = "knowledge.dispute"
	EventSupersede = "knowledge.supersede"
	EventAssign    = "knowledge.assign"
	EventForget    = "knowledge.forget"
)

// Action is a log entry of the audit trail: that somebody set out to change what
// is known. It is made before the store is asked, so an action that the store
// refuses is in the trail too. Its JSON form is a contract.
type Action struct {
	Event         string   `json:"event"`
	ClaimID       string   `json:"claim_id"`
	ClaimStatus   string   `json:"claim_status"`   // that it gets
	EvidenceCount int      `json:"evidence_count"` // of this action alone
	EvidenceKinds []string `json:"evidence_kinds"` // each once, in order
	ScopeType     string   `json:"scope_type"`     // null when unscoped, and of a claim that is not new
	ScopeID       string   `json:"scope_id"`       // like ScopeType
	ActorType     string   `json:"actor_type"`     //
	ActorID       string   `json:"actor_id"`       // null when nobody said
	BranchID      string   `json:"branch_id"`      //
	SessionID     string   `json:"session_id"`     // null outside of a session
	Timestamp     float64  `json:"timestamp"`      // seconds since 1970, to the microsecond
}

// MarshalJSON writes null for what is not known.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action // without this method
	if a.EvidenceKinds == nil {
		a.EvidenceKinds = []string{}
	}
	return json.Marshal(struct {
		plain
		ScopeType *string `json:"scope_type"`
		ScopeID   *string `json:"scope_id"`
		ActorID   *string `json:"actor_id"`
		SessionID *string `json:"session_id"`
	}{plain(a), known(a.ScopeType), known(a.ScopeID), known(a.ActorID), known(a.SessionID)})
}

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// action is a log entry of this handle.
func (s *Session) action(event, claim string, to ken.Status, evidence []ken.Evidence) Action {
	a := Action{Event: event, ClaimID: claim, ClaimStatus: string(to), EvidenceCount: len(evidence), EvidenceKinds: []string{},
		ActorType: s.o.Actor.Type, ActorID: s.o.Actor.ID, BranchID: s.o.About.Branch, SessionID: s.o.About.ID, Timestamp: seconds(s.now())}
	for _, e := range evidence {
		if !slices.Contains(a.EvidenceKinds, string(e.Kind)) {
			a.EvidenceKinds = append(a.EvidenceKinds, string(e.Kind))
		}
	}
	return a
}

// seconds keeps what a float can: microseconds.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// cleanArguments cleans the arguments of a tool call. JSON stays JSON: every
// string in it is cleaned by itself, as it reads once unescaped, and then the
// whole, since a secret may be known by the name before it. What needs no cleaning
// stays as the model wrote it. Text that is not JSON is cleaned as text.
func cleanArguments(raw string) string {
	v, ok := decode(raw)
	if !ok {
		return strings.TrimSpace(clean.Text(raw))
	}
	out := raw
	if unclean(raw) {
		eachString(&v, clean.Text)
		out = encode(v)
	}
	out, _ = guardrail.Redact(out)
	return strings.TrimSpace(out)
}

// unclean reports whether anything in a JSON value must go. It looks at what is
// written, since of a field that is there twice, a decoded value has one.
func unclean(raw string) bool {
	if guardrail.Sanitize(raw) != raw {
		return true
	}
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	for {
		switch tok, err := dec.Token(); tok := tok.(type) {
		case string:
			if clean.Text(tok) != tok {
				return true
			}
		case nil:
			if err != nil {
				return err != io.EOF
			}
		}
	}
}

// cutArguments bounds cleaned arguments. JSON stays JSON: its longest strings lose
// their middles first.
func cutArguments(args string, limit int) string {
	if len(args) <= limit {
		return args
	}
	v, ok := decode(args)
	for most := limit / 2; ok && most >= 64; most /= 2 {
		eachString(&v, func(s string) string { s, _ = cut(s, most); return s })
		if out, _ := guardrail.Redact(encode(v)); len(out) <= limit {
			return out
		}
	}
	args, _ = cut(args, limit)
	return args
}

// canonical is the same for arguments that differ in spelling alone: clients write
// them anew when they send them back.
func canonical(args string) string {
	if v, ok := decode(args); ok {
		return encode(v)
	}
	return args
}

// decode reads one JSON value.
func decode(s string) (v any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // never: it was decoded, and strings stay strings
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// eachString replaces every string of a JSON value, names of fields included.
func eachString(v *any, fn func(string) string) {
	switch x := (*v).(type) {
	case string:
		*v = fn(x)
	case []any:
		for i := range x {
			eachString(&x[i], fn)
		}
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			eachString(&e, fn)
			out[fn(k)] = e
		}
		*v = out
	}
}
