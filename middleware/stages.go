package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
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

// State is a turn on its way through the chain. It belongs to one goroutine.
type State struct {
	Turn    ken.Turn      // its messages are clean: a marker replaces each secret
	Read    []ken.Message // the messages that intent reads: clean, and shortened by guard
	Signals ken.Signals
	Found   retriever.Result
	Block   budgeter.Block
	Receipt *ken.Receipt // every stage fills in a part

	proj   store.Projections
	shares []*share // what other owners share with the turn's owner, as far as it came in time
	// vector hits of the session's last turn that came too late for it
	late <-chan store.Result

	code      turnCode
	filter    ken.Filter              // of the turn
	history   injectionHistory        // what earlier blocks of the conversation hold
	lastEvent uint64                  // the store's last event when the turn began to read
	dryRun    *dryRun                 // nil for a real turn
	current   *atomic.Pointer[string] // the name of the running stage; nil in a dry run
}

// DryRun reports whether this is a dry run: see operator.DryRun. A middleware should leave no trace
// then.
func (st *State) DryRun() bool { return st.dryRun != nil }

// Handler does something to a turn.
type Handler func(ctx context.Context, st *State) error

// Middleware wraps the rest of the chain. It may change the state before and after next, or not
// call next at all.
type Middleware func(next Handler) Handler

// chain builds one handler from middlewares. The first is the outermost.
func chain(m []Middleware) Handler {
	h := func(context.Context, *State) error { return nil }
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// stages returns the chain for a configuration, in the order in which it runs: the program's
// middlewares around guard, intent, the code graph, retrieve (which begins with structure) and
// budget.
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

// stage makes a middleware of one of the layer's own steps. It fails open: an error goes to the
// receipt, and the rest of the chain runs.
func stage(name string, do func(context.Context, *State) error) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, st *State) error {
			start := time.Now()
			if st.current != nil {
				st.current.Store(&name)
			}
			if err := protect(ctx, st, do); err != nil {
				st.degrade(name, err)
			}
			st.Receipt.MS[name] = ms(time.Since(start))
			return next(ctx, st)
		}
	}
}

// protect calls do and returns a panic as an error.
func protect(ctx context.Context, st *State, do Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do(ctx, st)
}

// degrade notes a failure in the receipt.
func (st *State) degrade(name string, err error) {
	why := name + ": " + err.Error()
	st.Receipt.Degraded = append(st.Receipt.Degraded, why)
	if st.Receipt.Cause == "" {
		st.Receipt.Cause = why
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// guardWindow is how many of the last messages guard cleans: more than intent reads, and few
// enough that a conversation of thousands costs nothing.
const guardWindow = 32

// guard removes the model's reasoning and the layer's own blocks from what later stages read.
// The request itself stays as it is.
func (l *Layer) guard(_ context.Context, st *State) error {
	st.Read = make([]ken.Message, 0, guardWindow+1)
	msgs := st.Turn.Messages
	from := max(0, len(msgs)-guardWindow)
	if last := lastUser(msgs); last >= 0 && last < from { // a long loop of tool calls: it still is what is asked
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

// guardMessage returns a message without reasoning, as the stages read it.
func guardMessage(m ken.Message) ken.Message {
	switch m.Role {
	case "assistant":
		m.Text = guardrail.StripReasoning(m.Text)
	case "user":
		m.Text = guardrail.StripPastedReasoning(m.Text)
	}
	return shortened(m)
}

// maxReadText bounds the bytes of a message that the stages read. Megabytes of text would take
// seconds and many times their size in memory, and a question stands at the beginning or at the
// end.
const maxReadText = 128 << 10

// shortened leaves out the middle of a message that is longer than maxReadText.
func shortened(m ken.Message) ken.Message {
	m.Text, _ = withoutMiddle(m.Text, maxReadText)
	return m
}

// withoutMiddle returns a text of at most limit bytes and reports whether it was longer. Of a
// longer text it returns a copy of the beginning and the end, with an empty line between them.
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

// intent reads the turn's signals from the last messages. If it is switched off or fails, the
// last user message is the question as it stands.
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

// structure gathers what the turn is about: its text and signals, the entities that its session
// carries, and the code symbols that it names. The retriever finds the constraints of those
// before it searches. The receipt counts the time of this step as part of retrieve.
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
		Done:    recentDeeds(st.Read),
		Expand:  st.Turn.Weight == ken.WeightHigh,
		Filter:  st.filter,
		Opens:   len(st.history.itemHashes) == 0,
	}
	if st.Signals.Asks { // otherwise late hits wait for the next turn that asks something
		q.Late = st.late
	}
	return q
}

// Bounds of what was done lately.
const (
	recentMessages = 12
	recentCalls    = 8
	deedBytes      = 1024 // of a call's arguments
)

// recentDeeds returns the tool calls of a conversation's last messages, the latest first: the
// rules of what they touch hold for what comes next.
func recentDeeds(msgs []ken.Message) (out []string) {
	for i := len(msgs) - 1; i >= max(0, len(msgs)-recentMessages); i-- {
		for _, call := range msgs[i].ToolCalls {
			if len(out) < recentCalls {
				out = append(out, call.Name+" "+call.Arguments[:min(len(call.Arguments), deedBytes)])
			}
		}
	}
	return out
}

// retrieve searches the owner's store and what others share with the owner. A turn that asks for
// nothing searches nothing.
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

// reportRetrieval writes into the receipt what was found and how, and asks for a calibration
// that is due.
func (l *Layer) reportRetrieval(st *State, calibration *calibrate.Calibration, ask *question) {
	r, found, noVector := st.Receipt, &st.Found, ask.noVector
	r.Focal = focalNames(found.Focal)
	r.Ranking, r.Explored = found.Ranking, found.Explored
	r.Mode = found.Mode
	if ask.nothing() && noVector == "" && r.Mode == ken.ModeHybrid {
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
	for source, t := range found.MS {
		r.MS[source] = t
	}
	if r.Cause == "" {
		r.Cause = l.retrievalCause(st, noVector)
	}
	if st.dryRun == nil && ask.joined == nil && l.usesCalibration() && calibration.Due(l.embedder.Model(), ask.total) { // otherwise its file is not read again
		l.requestCalibration(st.Turn.Owner, ask.embedded, ask.total)
	}
	if why := ask.degraded(); why != "" && st.Signals.Asks {
		st.degrade("vector", errors.New(why))
	}
}

// retrievalCause says why retrieval was less than hybrid; "" if it was hybrid.
func (l *Layer) retrievalCause(st *State, noVector string) string {
	switch {
	case !st.Signals.Asks:
		return "the message asks for nothing"
	case st.Found.Cause != "":
		return st.Found.Cause
	case !l.settings(st).Middleware.Keyword:
		return "switched off: middleware.keyword is false"
	case st.Found.Mode != ken.ModeHybrid:
		return noVector
	}
	return ""
}

// showPlaybook is the command that prints a playbook. The block names it where a playbook does
// not fit.
const showPlaybook = "ken skill show"

// prefetched is how many claims are fetched at once for the block where they lie in another
// process. Usually fewer fit.
const prefetched = 64

// likelyRefs returns the candidates of one store whose claims the block will ask for: every
// rule, then knowledge, then memory, which was read for the turns before.
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

// budget composes the block of what fits: see package budgeter.
func (l *Layer) budget(ctx context.Context, st *State) error {
	said := map[string]bool{} // ids of facts that the conversation holds in its own words
	cands := l.candidates(ctx, st, said)
	st.prefetch(ctx)
	cands = l.withCode(ctx, st, cands)
	b, count, cache := l.settings(st).Budget, l.countTokens, l.renderCache
	if st.dryRun != nil {
		count, cache = st.dryRun.count, nil
	}
	memory := b.MemoryChars
	if memory == 0 {
		memory = -1 // 0 means no memory part in the configuration, and the default to the budgeter
	}
	st.Block = budgeter.Compose(ctx, cands, budgeter.Options{Chars: b.Chars, MemoryChars: memory, Tokens: b.Tokens,
		Count: count, MinTier: st.Turn.Weight.MinTier(), MaxItemChars: b.ItemChars, Excerpt: excerptFor(st), Show: showPlaybook, Cache: cache,
		Seen: func(id, text string) bool { return st.history.contains(id, text) || said[id] }})
	r := st.Receipt
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
	r.Items = append(r.Items, st.Block.Items...)
	r.Cut = append(r.Cut, st.Block.Cut...)
	r.OverflowedConstraints = st.Block.OverflowedConstraints
	return nil
}

// excerptFor returns a function that shows what of a document's text bears on the turn.
func excerptFor(st *State) func(text string, most int) string {
	var asked []string
	return func(text string, most int) string {
		if asked == nil {
			asked = analysis.Terms(st.Signals.Question)
		}
		return analysis.Excerpt(text, asked, most)
	}
}

// pieceLengths are how long the best pieces of files may be, as parts of budget.item_chars, and then
// all others: the function that answers a question is best shown whole, and what is less likely
// to answer it must not take the room of several. Chosen on 540 questions: docs/decisions/0048.
var pieceLengths = [...]float64{2, 1.33, 1, 0.53}

// candidates returns what the block may hold: the session's checkpoint, the objectives, claims
// that no longer hold, and what was found. The text of a claim is read when the budgeter asks for
// it; said receives the ids of facts that the conversation holds in its own words.
func (l *Layer) candidates(ctx context.Context, st *State, said map[string]bool) []budgeter.Candidate {
	cands := make([]budgeter.Candidate, 0, len(st.Found.Candidates)+2)
	if c, ok := l.checkpointItem(ctx, st); ok {
		cands = append(cands, c)
	}
	if c, ok := l.objectivesItem(ctx, st); ok {
		cands = append(cands, c)
	}
	cands = append(cands, l.fallenClaims(ctx, st)...)
	pieces := 0 // of files
	for i := range st.Found.Candidates {
		c := &st.Found.Candidates[i]
		most := 0
		if !c.Memory && !c.Row.Constraint && c.Row.Facts.Kind == ken.KindDocument {
			most = int(pieceLengths[min(pieces, len(pieceLengths)-1)] * float64(l.cfg.Budget.ItemChars))
			pieces++
		}
		version := c.Row.Version
		if c.Row.Facts.Kind == ken.KindEntity || c.Owner != "" { // a task expires without a new version; versions of another store mean nothing here
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

// checkpointItem returns the state of the turn's session, for a conversation that has lost its
// past. It fails open, like a stage.
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
	// It is made of what was said and done in the session itself, and speaks with
	// the agent's voice.
	return budgeter.Candidate{Memory: true, Item: ken.Item{ID: checkpointID + st.Turn.Session, Kind: budgeter.KindCheckpoint,
		Tier: ken.Assumed, Trust: ken.TrustAgent, Source: checkpointSource(st.Turn.Session), Heading: checkpointHeading,
		Text: text, CreatedAt: at}}, ok
}

// checkpointID is the prefix of the id of a checkpoint's item. The session's id follows.
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
