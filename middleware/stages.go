package middleware

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// State is a turn on its way through the chain. It belongs to one goroutine.
type State struct {
	Turn    ken.Turn      // its messages are without secrets: each is replaced by a marker
	Read    []ken.Message // what intent reads: the messages, cleaned by guard
	Signals ken.Signals
	Found   retriever.Result
	Block   budgeter.Block
	Receipt *ken.Receipt // filled in by every stage

	p      store.Projections
	shares []*share // what other owners share with the turn's, as far as it was there in time
	late   <-chan store.Result

	code   turnCode
	filter ken.Filter              // of the turn
	past   injectionHistory        // what it was told by earlier blocks of the conversation
	seq    uint64                  // the store's last event when the turn began to read it
	trial  *dryRun                 // nil for a turn
	stage  *atomic.Pointer[string] // the one that runs; nil for a trial
}

// Trial reports whether the turn is only tried: see Layer.Trial. A middleware that
// leaves something behind should not do so then.
func (st *State) Trial() bool { return st.trial != nil }

// Handler does something to a turn.
type Handler func(ctx context.Context, st *State) error

// Middleware wraps the rest of the chain. It may change the state before and
// after next, or not call next at all.
type Middleware func(next Handler) Handler

// chain builds one handler; the first middleware is the outermost.
func chain(m []Middleware) Handler {
	h := func(context.Context, *State) error { return nil }
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// stage turns one of the layer's own steps into a middleware that fails open:
// what goes wrong is noted, and the rest of the chain runs.
func stage(name string, do func(context.Context, *State) error) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, st *State) error {
			start := time.Now()
			if st.stage != nil {
				st.stage.Store(&name)
			}
			if err := protect(ctx, st, do); err != nil {
				st.degrade(name, err)
			}
			st.Receipt.MS[name] = ms(time.Since(start))
			return next(ctx, st)
		}
	}
}

func protect(ctx context.Context, st *State, do Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do(ctx, st)
}

func (st *State) degrade(name string, err error) {
	why := name + ": " + err.Error()
	st.Receipt.Degraded = append(st.Receipt.Degraded, why)
	if st.Receipt.Cause == "" {
		st.Receipt.Cause = why
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// guardWindow is how many of the last messages guard cleans: more than intent
// looks at, and few enough that a conversation of thousands costs nothing.
const guardWindow = 32

// guard takes the model's reasoning and the layer's own blocks out of what the
// stages after it read. The request itself stays as it is.
func (l *Layer) guard(_ context.Context, st *State) error {
	st.Read = make([]ken.Message, 0, guardWindow+1)
	msgs := st.Turn.Messages
	from := max(0, len(msgs)-guardWindow)
	if last := lastUser(msgs); last >= 0 && last < from { // a long loop of tool calls: it still is what is asked
		st.Read = append(st.Read, guarded(msgs[last]))
	}
	for _, m := range msgs[from:] {
		if budgeter.IsBlock(m.Text) {
			continue
		}
		st.Read = append(st.Read, guarded(m))
	}
	return nil
}

// guarded is a message without reasoning, as the stages read it.
func guarded(m ken.Message) ken.Message {
	switch m.Role {
	case "assistant":
		m.Text = guardrail.StripReasoning(m.Text)
	case "user":
		m.Text = guardrail.StripPastedReasoning(m.Text)
	}
	return shortened(m)
}

// maxReadText bounds the bytes of a message that the stages read. Words of megabytes
// would take them seconds and many times their size in memory, and what is asked stands
// at the beginning or at the end.
const maxReadText = 128 << 10

// shortened leaves out the middle of a message that is longer than maxReadText.
func shortened(m ken.Message) ken.Message {
	m.Text, _ = withoutMiddle(m.Text, maxReadText)
	return m
}

// withoutMiddle returns a text of at most limit bytes, and whether it had more: then it
// is the beginning and the end with an empty line between them, in a copy of its own.
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

// intent reads the signals. Switched off, or when it fails, the last user message
// is the question as it stands.
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

// retrieve asks the legs. A turn that asks for nothing has none.
func (l *Layer) retrieve(ctx context.Context, st *State) error {
	c, o, noVector := l.searchOf(st)
	o.Legs = l.legs(l.settings(st), st.p, &st.Signals, noVector)
	l.learned(ctx, st, &o)
	late := st.late
	if !st.Signals.Asks { // it waits for the next turn that does
		late = nil
	}
	st.filter = ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: l.now().UTC(), MinTrust: l.settings(st).Retrieval.MinTrust}
	t := retriever.Turn{
		Signals: st.Signals,
		ID:      st.Turn.ID,
		Session: st.Turn.Session,
		Began:   l.beganAnew(ctx, st),
		Late:    late,
		Text:    userText(st.Read),
		Project: cmp.Or(st.Turn.Project, l.o.Root),
		Carried: l.carries(ctx, st),
		Named:   st.code.named,
		Beside:  st.code.beside,
		Expand:  st.Turn.Weight == ken.WeightHigh,
		Filter:  st.filter,
	}
	asked := l.askShares(ctx, st, t)
	st.Found = retriever.New(st.p, o).Retrieve(ctx, t)
	if !st.Signals.Asks {
		st.Found.Late = st.late
	}
	l.mergeShares(ctx, st, asked, o.TopK)
	r := st.Receipt
	r.Focal = focalNames(st.Found.Focal)
	if st.trial == nil {
		l.carry(&st.Turn, st.Found.Focal)
	}
	r.Ranking, r.Explored = st.Found.Ranking, st.Found.Explored
	r.Mode = st.Found.Mode
	if c != nil && noVector == "" && st.Signals.Asks {
		r.Likeness = c.Factor
	}
	r.Cut = append(r.Cut, st.Found.Cut...)
	r.Degraded = append(r.Degraded, st.Found.Degraded...)
	for leg, t := range st.Found.MS {
		r.MS[leg] = t
	}
	if !st.Signals.Asks {
		r.Mode = ken.ModeNone
	}
	if r.Cause == "" {
		r.Cause = l.cause(st, noVector)
	}
	have, total := st.p.Coverage()
	if st.trial == nil && l.calibrates() && c.Due(l.embedder.Model(), total) { // else its file needs no second look
		l.wantCalibration(st.Turn.Owner, have, total)
	}
	if noVector == "" && st.Signals.Asks && have < total {
		st.degrade("vector", fmt.Errorf("only %d of %d records have a vector of this model yet", have, total))
	}
	return nil
}

// cause says why retrieval was less than hybrid; "" when it was not.
func (l *Layer) cause(st *State, noVector string) string {
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

// showPlaybook prints a playbook whole: the block names it where one does not fit.
const showPlaybook = "ken skill show"

// fetched is how many claims are got ready for the block at once, where they lie in
// another process: more than usually have room in it.
const fetched = 64

// likely are the candidates, of one store, whose claims the block will ask for: every rule, and of the
// others knowledge first, since what is in every turn was read for the turns before.
func likely(cands []retriever.Candidate) []store.Ref {
	rules := 0
	for rules < len(cands) && cands[rules].Constraint {
		rules++
	}
	refs := make([]store.Ref, 0, fetched+rules)
	for i := range cands[:rules] {
		refs = append(refs, cands[i].Ref)
	}
	for _, memory := range []bool{false, true} {
		for i := rules; i < len(cands); i++ {
			if cands[i].Memory == memory && len(refs) < fetched+rules {
				refs = append(refs, cands[i].Ref)
			}
		}
	}
	return refs
}

// budget fills the block.
func (l *Layer) budget(ctx context.Context, st *State) error {
	cands := make([]budgeter.Candidate, 0, len(st.Found.Candidates)+2)
	if c, ok := l.checkpoint(ctx, st); ok {
		cands = append(cands, c)
	}
	if c, ok := l.goals(ctx, st); ok {
		cands = append(cands, c)
	}
	cands = append(cands, l.fallen(ctx, st)...)
	here := map[string]bool{} // facts, by id, in the words of the turn's own conversation
	for i := range st.Found.Candidates {
		c := &st.Found.Candidates[i]
		version := c.Row.Version
		if c.Row.Facts.Kind == ken.KindEntity || c.Owner != "" { // a task's time runs out without a change; a version means nothing in another store
			version = 0
		}
		cands = append(cands, budgeter.Candidate{
			Memory: c.Memory, OrMemory: c.Recent, Version: version, Distance: c.Distance,
			Item: ken.Item{ID: c.Row.ID, Owner: c.Owner, Kind: c.Row.Facts.Kind, Tier: c.Tier, Trust: c.Row.Facts.Trust, Fused: c.Fused,
				Legs: c.Legs, Signals: c.Signals, CreatedAt: c.Row.CreatedAt, Constraint: c.Row.Constraint},
			Load: func(ctx context.Context) (ken.Claim, error) {
				claim, err := st.claim(ctx, c)
				if err == nil && claim.Kind == ken.KindFact && saidHere(&st.Turn, &claim) {
					here[claim.ID] = true
				}
				return claim, err
			},
		})
	}
	st.fetch(ctx)
	seen := func(id, text string) bool { return st.past.seen(id, text) || here[id] }
	cands = l.withCode(ctx, st, cands)
	b, count, cache := l.settings(st).Budget, l.count, l.rendered
	if st.trial != nil {
		count, cache = st.trial.count, nil
	}
	memory := b.MemoryChars
	if memory == 0 {
		memory = -1 // the configuration's 0 leaves memory out, the budgeter's is its default
	}
	st.Block = budgeter.Compose(ctx, cands, budgeter.Options{Chars: b.Chars, MemoryChars: memory, Tokens: b.Tokens,
		Count: count, MinTier: st.Turn.Weight.MinTier(), Seen: seen, MaxItemChars: b.ItemChars, Show: showPlaybook, Cache: cache})
	r := st.Receipt
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
	r.Items = append(r.Items, st.Block.Items...)
	r.Cut = append(r.Cut, st.Block.Cut...)
	r.OverflowedConstraints = st.Block.OverflowedConstraints
	return nil
}

// checkpoint is where the turn's session stands, for a conversation that has lost
// it. Whoever knows fails open, like a stage.
func (l *Layer) checkpoint(ctx context.Context, st *State) (c budgeter.Candidate, ok bool) {
	if l.recovery == nil {
		return c, false
	}
	var text string
	var at time.Time
	err := protect(ctx, st, func(ctx context.Context, st *State) error {
		if st.trial != nil {
			r, _ := l.recoverable(ctx, &st.Turn, &st.trial.cfg)
			text, at, ok = r.told()
			return nil
		}
		text, at, ok = l.recovery(ctx, &st.Turn)
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

// checkpointID is what the id of a checkpoint's item starts with; the session's
// follows.
const checkpointID = "checkpoint:"

const checkpointHeading = "Where this session stands"

func checkpointSource(session string) string { return "session " + session }

// stages is the chain that a configuration asks for.
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

func lastUser(msgs []ken.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == "user" && !budgeter.IsBlock(msgs[i].Text) {
			return i
		}
	}
	return -1
}

func since(start time.Time) float64 { return ms(time.Since(start)) }

// lateResults keeps, for sessions whose last turn went on without its vector leg,
// where the leg's hits will arrive. Sessions that never return are forgotten
// beyond maxConversations.
type lateResults struct {
	mu sync.Mutex // guards m
	m  map[string]<-chan store.Result
}

func (l *lateResults) keep(session string, ch <-chan store.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[string]<-chan store.Result{}
	}
	makeRoom(l.m, maxConversations)
	l.m[session] = ch
}

func (l *lateResults) take(session string) <-chan store.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.m[session]
	delete(l.m, session)
	return ch
}
