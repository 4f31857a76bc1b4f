package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// State is the state of a turn in the chain of stages. It belongs to one goroutine.
type State struct {
	Turn    ken.Turn      // its messages are clean: each secret is replaced by a marker
	Read    []ken.Message // the messages for package intent: clean, and shortened by guard
	Signals ken.Signals
	Found   retriever.Result
	Block   budgeter.Block
	Receipt *ken.Receipt // every stage fills in a part of it

	proj   store.Projections
	shares []*share // what other owners share with the turn's owner, as far as it arrived in time
	// late receives the vector hits for which the session's last turn did not wait.
	late <-chan store.Result

	code      turnCode
	filter    ken.Filter       // the turn's search filter
	history   injectionHistory // the items in earlier blocks of the conversation
	lastEvent uint64           // the store's last event when the turn began to read
	dryRun    *dryRun          // nil for a real turn
	at        *progress        // nil in a dry run
}

// DryRun reports whether this is a dry run, which shows what a turn would get. A middleware should then
// leave no trace.
func (st *State) DryRun() bool { return st.dryRun != nil }

// Handler processes a turn.
type Handler func(ctx context.Context, st *State) error

// Middleware wraps the rest of the chain. It may change the state before and after it calls next,
// and need not call next.
type Middleware func(next Handler) Handler

// chain builds one handler from middlewares. The first is the outermost.
func chain(m []Middleware) Handler {
	h := func(context.Context, *State) error { return nil }
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// stages returns the chain for a configuration, in the order in which it runs. The program's
// middlewares are outermost. Then follow guard, intent, the code graph, retrieve (which begins with
// structure) and budget.
func (l *Layer) stages(c *config.Config) []Middleware {
	out := append([]Middleware{}, l.o.Use...)
	if c.Middleware.Guard {
		out = append(out, stage("guard", l.guard))
	}
	out = append(out, stage("intent", l.intent))
	if c.Middleware.Graph {
		out = append(out, stage(legGraph, l.graph))
	}
	return append(out, stage("retrieve", l.retrieve), stage("budget", l.budget))
}

// stage makes a middleware of one of the layer's own stages. After an error, which goes to the
// receipt, the rest of the chain still runs.
func stage(name string, do func(context.Context, *State) error) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, st *State) error {
			start := time.Now()
			if st.at != nil {
				st.at.stage.Store(&name)
			}
			if err := protect(ctx, st, do); err != nil {
				st.degrade(name, err)
			}
			st.Receipt.MS[name] = ms(time.Since(start))
			return next(ctx, st)
		}
	}
}

// protect calls do and converts a panic to an error.
func protect(ctx context.Context, st *State, do Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do(ctx, st)
}

// degrade records a failure in the receipt.
func (st *State) degrade(name string, err error) {
	why := name + ": " + err.Error()
	st.Receipt.Degraded = append(st.Receipt.Degraded, why)
	st.Receipt.Cause = cmp.Or(st.Receipt.Cause, why)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// guardWindow is the number of last messages that guard cleans. Package intent reads fewer, and a
// conversation with thousands of messages costs no more.
const guardWindow = 32

// guard removes the model's reasoning and the layer's own blocks from the messages that later
// stages read. The request itself is not changed.
func (l *Layer) guard(_ context.Context, st *State) error {
	st.Read = make([]ken.Message, 0, guardWindow+1)
	msgs := st.Turn.Messages
	from := max(0, len(msgs)-guardWindow)
	if last := lastUser(msgs); last >= 0 && last < from { // in a long loop of tool calls, the user's message is still the question
		st.Read = append(st.Read, guardMessage(msgs[last]))
	}
	for _, m := range msgs[from:] {
		if budgeter.IsBlock(m.Text) {
			continue
		}
		st.Read = append(st.Read, guardMessage(m))
	}
	return nil
}

// guardMessage returns a message without reasoning, for the later stages.
func guardMessage(m ken.Message) ken.Message {
	switch m.Role {
	case "assistant":
		m.Text = guardrail.StripReasoning(m.Text)
	case "user":
		m.Text = guardrail.StripPastedReasoning(m.Text)
	}
	return shortened(m)
}

// maxReadText is the maximum number of bytes of a message that the stages read. Megabytes of text
// would take seconds and a multiple of their size in memory, and a question is usually at the
// beginning or the end.
const maxReadText = 128 << 10

// shortened leaves out the middle of a message that is longer than maxReadText.
func shortened(m ken.Message) ken.Message {
	m.Text, _ = withoutMiddle(m.Text, maxReadText)
	return m
}

// withoutMiddle returns a text of at most limit bytes and reports whether s was longer. If it was,
// the result is a copy of its beginning and end, with an empty line between them.
func withoutMiddle(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	head, tail := limit/2-1, len(s)-limit/2+1
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n\n" + s[tail:], true
}

// intent reads the turn's signals from the last messages. If it is switched off or fails, the text
// of the last user message is the question.
func (l *Layer) intent(_ context.Context, st *State) error {
	q := ""
	if i := lastUser(st.Read); i >= 0 {
		q = st.Read[i].Text
	}
	st.Signals = ken.Signals{Keywords: strings.Fields(q), Symbols: []string{}, Failures: []string{}, Entities: []string{},
		Question: q, Asks: q != ""}
	defer func() { st.Receipt.Signals = st.Signals }()
	if l.settings(st).Middleware.Intent {
		st.Signals = intent.Analyze(st.Read)
	}
	return nil
}

// structure collects what the turn is about: its text and signals, the entities carried over from
// earlier turns of its session, and the code symbols that it names. The retriever finds the
// constraints on those before it searches. In the receipt, the time of this step is part of
// retrieve.
func (l *Layer) structure(ctx context.Context, st *State) retriever.Turn {
	st.filter = ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: l.now().UTC(), MinTrust: l.settings(st).Retrieval.MinTrust}
	q := retriever.Turn{
		Signals: st.Signals,
		ID:      st.Turn.ID,
		Session: st.Turn.Session,
		Began:   l.restartTime(ctx, st),
		Text:    userText(st.Read),
		Project: cmp.Or(st.Turn.Project, l.o.Root),
		Carried: l.carriedFocus(ctx, st),
		Named:   st.code.named,
		Beside:  st.code.nearby,
		Done:    recentToolCalls(st.Read),
		Expand:  st.Turn.Weight == ken.WeightHigh,
		Filter:  st.filter,
		Opens:   len(st.history.itemHashes) == 0,
	}
	if st.Signals.Asks { // otherwise the late hits are kept for the next turn with a question
		q.Late = st.late
	}
	if st.at != nil {
		q.OnRules = func(n int) { st.at.rules.Store(int64(n)) }
	}
	return q
}

// Bounds of recentToolCalls.
const (
	recentMessages  = 12
	recentCalls     = 8
	maxCallArgBytes = 1024 // bytes of a call's arguments
)

// recentToolCalls returns the tool calls of a conversation's last messages, the latest first. The rules
// about what they touch also apply to the next step.
func recentToolCalls(msgs []ken.Message) (out []string) {
	for i := len(msgs) - 1; i >= max(0, len(msgs)-recentMessages); i-- {
		for _, call := range msgs[i].ToolCalls {
			if len(out) < recentCalls {
				out = append(out, call.Name+" "+call.Arguments[:min(len(call.Arguments), maxCallArgBytes)])
			}
		}
	}
	return out
}

// retrieve searches the owner's store and the knowledge that others share with the owner. For a
// turn without a question it searches nothing.
func (l *Layer) retrieve(ctx context.Context, st *State) error {
	calibration, o, ask := l.searchSettings(st)
	o.Sources = l.legs(l.settings(st), st.proj, &st.Signals, ask.embedder)
	l.applyLearned(ctx, st, &o)
	if l.reranker != nil && st.Signals.Asks {
		o.Rerank = l.reranker.Scores
	}
	q := l.structure(ctx, st)
	shared := l.searchShares(ctx, st, q)
	st.Found = retriever.New(st.proj, o).Retrieve(ctx, q)
	if !st.Signals.Asks {
		st.Found.Late = st.late
	}
	l.mergeShares(ctx, st, shared, o.TopK)
	if st.dryRun == nil {
		l.saveFocus(&st.Turn, st.Found.Focal)
	}
	l.reportRetrieval(st, calibration, &ask)
	return nil
}

// reportRetrieval adds the search's result to the receipt, and requests a calibration that is due.
func (l *Layer) reportRetrieval(st *State, calibration *calibrate.Calibration, ask *question) {
	r, found, noVector := st.Receipt, &st.Found, ask.noVector
	r.Focal = focalNames(found.Focal)
	r.Ranking, r.Explored = found.Ranking, found.Explored
	r.Mode = found.Mode
	if ask.lacksVectors() && noVector == "" && r.Mode == ken.ModeHybrid {
		r.Mode, found.Cause = ken.ModeKeyword, noVectors
	}
	if !st.Signals.Asks {
		r.Mode = ken.ModeNone
	}
	if calibration != nil && noVector == "" && st.Signals.Asks {
		r.Likeness = calibration.Factor
	}
	r.Cut = append(r.Cut, found.Cut...)
	r.Degraded = append(r.Degraded, found.Degraded...)
	maps.Copy(r.MS, found.MS)
	if r.Cause == "" {
		r.Cause = l.retrievalCause(st, noVector)
	}
	if st.dryRun == nil && ask.joined == nil && l.usesCalibration() && calibration.Due(l.embedder.Model(), ask.total) { // otherwise the calibration's file is not read again
		l.requestCalibration(st.Turn.Owner, ask.embedded, ask.total)
	}
	if why := ask.degraded(); why != "" && st.Signals.Asks {
		st.degrade("vector", errors.New(why))
	}
}

// retrievalCause returns why retrieval was less than hybrid; "" if it was hybrid.
func (l *Layer) retrievalCause(st *State, noVector string) string {
	switch {
	case !st.Signals.Asks:
		return "the message asks for nothing"
	case st.Found.Cause != "":
		return st.Found.Cause
	case !l.settings(st).Middleware.Keyword:
		const off = "switched off: middleware.keyword is false"
		if st.Found.Mode == ken.ModeNone && noVector != "" {
			return off + "; " + noVector
		}
		return off
	case st.Found.Mode != ken.ModeHybrid:
		return noVector
	}
	return ""
}

// showPlaybook is the command that prints a playbook. A block names it if the playbook does not
// fit.
const showPlaybook = "ken skill show"

// prefetched is the maximum number of claims that are read together for the block if another
// process holds the store. Usually fewer fit into the block.
const prefetched = 64

// likelyRefs returns the candidates of one store that are likely to be in the block: every rule,
// then knowledge, then memory items, which earlier turns have read already.
func likelyRefs(cands []retriever.Candidate) []store.Ref {
	rules := 0
	for rules < len(cands) && cands[rules].Constraint {
		rules++
	}
	refs := make([]store.Ref, 0, prefetched+rules)
	for i := range cands[:rules] {
		refs = append(refs, cands[i].Ref)
	}
	for _, memory := range []bool{false, true} {
		for i := rules; i < len(cands); i++ {
			if cands[i].Memory == memory && len(refs) < prefetched+rules {
				refs = append(refs, cands[i].Ref)
			}
		}
	}
	return refs
}

// budget composes the block from the candidates that fit: see package budgeter.
func (l *Layer) budget(ctx context.Context, st *State) error {
	said := map[string]bool{} // ids of facts that the conversation contains in its own words
	cands := l.candidates(ctx, st, said)
	st.prefetch(ctx)
	cands = l.withCode(ctx, st, cands)
	b, count, cache := l.settings(st).Budget, l.countTokens, l.renderCache
	if st.dryRun != nil {
		count, cache = st.dryRun.count, nil
	}
	memory := b.MemoryChars
	if memory == 0 {
		memory = -1 // 0 in the configuration means no memory part; in the options it means the default
	}
	st.Block = budgeter.Compose(ctx, cands, budgeter.Options{Chars: b.Chars, MemoryChars: memory, Tokens: b.Tokens,
		Count: count, MinTier: st.Turn.Weight.MinTier(), MaxItemChars: b.ItemChars, Excerpt: excerptFor(st), Show: showPlaybook, Cache: cache,
		Seen: func(id, text string) bool { return st.history.contains(id, text) || said[id] }})
	r := st.Receipt
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
	r.Items = append(r.Items, st.Block.Items...)
	r.Cut = append(r.Cut, st.Block.Cut...)
	r.OverflowedConstraints = st.Block.OverflowedConstraints
	if r.Block == "" { // what was found could not be read, as when the store is closed meanwhile
		for _, c := range st.Block.Cut {
			if c.Reason == ken.CutLate && c.Detail != "" {
				return errors.New(c.Detail)
			}
		}
	}
	return nil
}

// excerptFor returns a function that returns the part of a document's text that is relevant to the
// turn.
func excerptFor(st *State) func(text string, most int) string {
	var asked []string
	return func(text string, most int) string {
		if asked == nil {
			asked = analysis.Terms(st.Signals.Question)
		}
		return analysis.Excerpt(text, asked, most)
	}
}

// pieceLengths are the maximum lengths of the best pieces of files, as factors of
// budget.item_chars; the last one applies to all further pieces. The function that answers a
// question is best shown completely, and less likely pieces must not use the space of several.
// Chosen on 540 questions: docs/decisions/0048.
var pieceLengths = [...]float64{2, 1.33, 1, 0.53}

// candidates returns what the block may contain: the session's checkpoint, the objectives, claims
// that are no longer valid, and what was found. A claim's text is read when the budgeter asks for
// it. said receives the ids of facts that the conversation contains in its own words.
func (l *Layer) candidates(ctx context.Context, st *State, said map[string]bool) []budgeter.Candidate {
	cands := make([]budgeter.Candidate, 0, len(st.Found.Candidates)+2)
	if c, ok := l.checkpointItem(ctx, st); ok {
		cands = append(cands, c)
	}
	if c, ok := l.objectivesItem(ctx, st); ok {
		cands = append(cands, c)
	}
	cands = append(cands, l.fallenClaims(ctx, st)...)
	pieces := 0 // number of pieces of files
	for i := range st.Found.Candidates {
		c := &st.Found.Candidates[i]
		most := 0
		if !c.Memory && !c.Row.Constraint && c.Row.Facts.Kind == ken.KindDocument {
			most = int(pieceLengths[min(pieces, len(pieceLengths)-1)] * float64(l.cfg.Budget.ItemChars))
			pieces++
		}
		version := c.Row.Version
		if c.Row.Facts.Kind == ken.KindEntity || c.Owner != "" { // a task expires without a new version; versions of another store are not comparable
			version = 0
		}
		cands = append(cands, budgeter.Candidate{
			MaxChars: most, Memory: c.Memory, OrMemory: c.Recent, Version: version, Distance: c.Distance,
			Item: ken.Item{ID: c.Row.ID, Owner: c.Owner, Kind: c.Row.Facts.Kind, Tier: c.Tier, Trust: c.Row.Facts.Trust, Fused: c.Fused,
				Legs: c.Sources, Signals: c.Signals, CreatedAt: c.Row.CreatedAt, Constraint: c.Row.Constraint},
			Load: func(ctx context.Context) (ken.Claim, error) {
				claim, err := st.loadClaim(ctx, c)
				if err == nil && claim.Kind == ken.KindFact && saidInConversation(&st.Turn, &claim) {
					said[claim.ID] = true
				}
				return claim, err
			},
		})
	}
	return cands
}

// checkpointItem returns the session's checkpoint for a conversation that has lost its past. After
// an error it returns none, and the receipt says so.
func (l *Layer) checkpointItem(ctx context.Context, st *State) (c budgeter.Candidate, ok bool) {
	if l.findCheckpoint == nil {
		return c, false
	}
	var text string
	var at time.Time
	err := protect(ctx, st, func(ctx context.Context, st *State) error {
		if st.dryRun != nil {
			r, _ := l.findRecovery(ctx, &st.Turn, &st.dryRun.cfg)
			text, at, ok = r.result()
			return nil
		}
		text, at, ok = l.findCheckpoint(ctx, &st.Turn)
		return nil
	})
	if err != nil {
		st.degrade("recovery", err)
		return c, false
	}
	// It repeats what was said and done in the session, so it has the trust of the agent.
	return budgeter.Candidate{Memory: true, Item: ken.Item{ID: checkpointID + st.Turn.Session, Kind: budgeter.KindCheckpoint,
		Tier: ken.Assumed, Trust: ken.TrustAgent, Source: checkpointSource(st.Turn.Session), Heading: checkpointHeading,
		Text: text, CreatedAt: at}}, ok
}

// checkpointID is the prefix of the item id of a checkpoint. The session's id follows.
const checkpointID = "checkpoint:"

const checkpointHeading = "Where this session stands"

func checkpointSource(session string) string { return "session " + session }

// lastUser returns the index of the last user message that is not a block; -1 if there is none.
func lastUser(msgs []ken.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == "user" && !budgeter.IsBlock(msgs[i].Text) {
			return i
		}
	}
	return -1
}

func since(start time.Time) float64 { return ms(time.Since(start)) }
