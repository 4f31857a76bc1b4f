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

// Limits of a checkpoint. It is small because it is read with every recovered turn.
// The oldest entries are removed first.
const (
	maxListed = 10 // of each list: entities, files, constraints and others
	maxOpen   = 5
	maxPoint  = 300 // characters of one string
)

// Digest returns the checkpoint of a session after entries. Entries that prev
// covers are skipped. prev is nil at the start; step is what the turn itself adds.
// It is a pure function and calls no model. Its rules:
//
//   - The goal is the user's first request that says something, in the user's
//     words, until one turns to something else: see isNewGoal.
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
	for _, s := range slices.Backward(said) { // skip a closing question such as "Anything else?"
		if !question(s) {
			last = s
			break
		}
	}
	c.LastStep = checkpointLine(last)
}

// prependNew returns first, then rest, without duplicates, at most maxListed
// strings.
func prependNew(first, rest []string) []string {
	var out []string
	for _, s := range slices.Concat(first, rest) {
		s = checkpointLine(s)
		same := func(o string) bool { return strings.EqualFold(o, s) }
		if s != "" && len(out) < maxListed && !slices.ContainsFunc(out, same) {
			out = append(out, s)
		}
	}
	return out
}

// checkpointLine returns a string as a checkpoint stores it: one line of at most
// maxPoint characters.
func checkpointLine(s string) string { return clip(strings.Join(strings.Fields(s), " "), maxPoint) }

// clip cuts a line to n characters, at the end of a word if one is near.
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

// Term counts for isNewGoal. A first goal has at least firstTerms terms: "fix it"
// alone says too little. A text that replaces a goal has at least turnTerms. A text
// of longTerms or more is complete even if it refers back.
const (
	firstTerms = 2
	turnTerms  = 3
	longTerms  = 20
)

// isNewGoal reports whether the user's text replaces the goal. It does if it asks
// for something and there is no goal yet, if it announces another task, or if it
// shares no term with the task so far (the goal, the open questions, files,
// entities and the last step) and does not refer back to it. So "also add a test
// for that" stays with the task, and "write the release notes for June" starts a
// new one.
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
	var tokens []analysis.Token
	for _, s := range slices.Concat([]string{c.Goal, c.LastStep}, c.Open, c.Files, c.Entities) {
		tokens = analysis.Tokens(tokens[:0], s)
		if slices.ContainsFunc(tokens, func(t analysis.Token) bool { return slices.Contains(terms, t.Term) }) {
			return false
		}
	}
	return !smallTalk(text)
}

func smallTalk(text string) bool {
	return !intent.Analyze([]ken.Message{{Role: "user", Text: text}}).Asks
}

// newTaskPhrases lists phrases that announce another task.
var newTaskPhrases = []string{"new task", "next task", "another task", "different task", "different topic", "another topic", "new topic",
	"something else", "something different", "something completely different", "switch to", "moving on", "move on to", "on another note", "unrelated"}

func announcesOtherTask(text string) bool {
	head := strings.ToLower(text[:min(len(text), 120)])
	return slices.ContainsFunc(newTaskPhrases, func(s string) bool { return strings.Contains(head, s) })
}

// backReferences lists words that refer to what was said before. They are English only; in
// other languages shared terms alone decide. "This" is left out, because it may
// refer to text pasted below.
var backReferences = []string{"it", "its", "it's", "those", "them", "they", "also", "too", "again", "instead", "same", "still", "both", "above",
	"previous", "earlier", "then"}

// pointsBack reports whether one of the first words refers to an earlier message.
// Later words mostly refer to something in the same message. "That" counts among
// the first three words and as the last word.
func pointsBack(text string) bool {
	const first, firstThat = 12, 3
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for i, w := range words[:min(len(words), first)] {
		if slices.Contains(backReferences, w) || w == "that" && (i < firstThat || i == len(words)-1) {
			return true
		}
	}
	return false
}

// prose returns a text without its fenced code blocks.
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

// isQuestion reports whether a sentence is a question with content. "ok?" is not.
func isQuestion(sentence string) bool {
	const leastBytes = 8 // of a question of one word
	return question(sentence) && len(analysis.Terms(sentence)) > 0 && (strings.Contains(sentence, " ") || len(sentence) > leastBytes)
}

func question(sentence string) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// sentences splits prose at line breaks, at the full stops of scripts without
// spaces, and at other sentence marks when a space follows. It removes the marks of
// lists and headings.
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

// hookRunner calls the functions that a program registered for a session's actions,
// one call at a time, and waits at most wait for each.
type hookRunner struct {
	wait      time.Duration
	log       *slog.Logger
	turn      chan struct{} // holds a token while no call runs
	abandoned atomic.Bool   // the running call has timed out
}

func newHookRunner(wait time.Duration, log *slog.Logger) *hookRunner {
	t := &hookRunner{wait: wait, log: log, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// call runs fn and waits at most t.wait for it. A call that takes longer is
// abandoned: it runs on, and until it returns, later calls are skipped with a
// warning. So only one action waits for a hanging logger.
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
		case err := <-done: // fn returned as the time ran out
			t.warn(what, a, err)
		default:
			t.abandoned.Store(true)
			t.warn(what, a, fmt.Errorf("no answer: %w", ctx.Err()))
		}
	}
}

// take waits for its turn, and returns false when ctx ends first. It does not wait
// for an abandoned call.
func (t *hookRunner) take(ctx context.Context) bool {
	select {
	case <-t.turn:
		return true
	default:
	}
	if t.abandoned.Load() {
		return false
	}
	select {
	case <-t.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

// warn logs an action with all its fields, because the audit trail may lack it.
func (t *hookRunner) warn(what string, a Action, err error) {
	if err == nil {
		return
	}
	t.log.Warn(what, "cause", err, "event", a.Event, "claim_id", a.ClaimID, "claim_status", a.ClaimStatus,
		"evidence_count", a.EvidenceCount, "evidence_kinds", a.EvidenceKinds, "scope_type", a.ScopeType, "scope_id", a.ScopeID,
		"actor_type", a.ActorType, "actor_id", a.ActorID, "branch_id", a.BranchID, "session_id", a.SessionID, "timestamp", a.Timestamp)
}

// log passes an action to the audit logger before it is done.
func (s *Session) log(ctx context.Context, a Action) {
	if s.o.Logger != nil {
		s.trail.call(ctx, "log a knowledge action", a, func(ctx context.Context) error { return s.o.Logger(ctx, a) })
	}
}

// reject reports a claim that was refused for lack of evidence.
func (s *Session) reject(ctx context.Context, a Action, text string, err error) {
	if s.o.Rejected != nil {
		s.trail.call(ctx, "report a refused claim", a, func(ctx context.Context) error {
			s.o.Rejected(ctx, a, text, err)
			return nil
		})
	}
}

// Events of actions. No method of this package does the last three; a caller that
// does them through the store logs them by these names.
const (
	EventLearn     = "knowledge.learn"
	EventVerify    = "knowledge.verify"
	EventDispute   = "knowledge.dispute"
	EventSupersede = "knowledge.supersede"
	EventAssign    = "knowledge.assign"
	EventForget    = "knowledge.forget"
)

// Action is an entry of the audit trail: an attempt to change what is known. It is
// logged before the store is called, so an action that the store refuses is in the
// trail too. Its JSON form is a contract.
type Action struct {
	Event         string   `json:"event"`
	ClaimID       string   `json:"claim_id"`
	ClaimStatus   string   `json:"claim_status"`   // the status that the claim gets
	EvidenceCount int      `json:"evidence_count"` // of this action alone
	EvidenceKinds []string `json:"evidence_kinds"` // each once, in order
	ScopeType     string   `json:"scope_type"`     // null when unscoped, and for a claim that exists already
	ScopeID       string   `json:"scope_id"`       // like ScopeType
	ActorType     string   `json:"actor_type"`     //
	ActorID       string   `json:"actor_id"`       // null when unknown
	BranchID      string   `json:"branch_id"`      //
	SessionID     string   `json:"session_id"`     // null outside of a session
	Timestamp     float64  `json:"timestamp"`      // seconds since 1970, to the microsecond
}

// MarshalJSON implements json.Marshaler. It writes null for unknown fields.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action // without this method, so that Marshal does not recurse
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

// action returns an audit entry with the fields of this handle.
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

// seconds converts a time to seconds since 1970, to the microsecond, which a
// float64 can represent.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// cleanArguments cleans the arguments of a tool call. JSON stays JSON: it cleans
// every unescaped string, then the whole, because the field name may be what marks
// a value as a secret. Arguments that need no cleaning keep their exact bytes. Text
// that is not JSON is cleaned as text.
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

// unclean reports whether a JSON value contains anything to remove. It scans the
// raw text, because decoding keeps only the last value of a duplicate field.
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

// cutArguments limits cleaned arguments to limit bytes. JSON stays JSON: its
// longest strings lose their middles first.
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

// canonical returns arguments in a normal form, because clients re-encode the
// arguments that they send back.
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
	if e.Encode(v) != nil { // can't fail: the value was decoded from JSON
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// eachString replaces every string of a JSON value, including field names.
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
