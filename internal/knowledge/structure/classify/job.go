package classify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// batch is the payload of a job: some facts, of one scope when the job was added. It has no
// text of them, because a fact may be forgotten before the job is.
type batch struct {
	Facts []item `json:"facts"`
}

// item is a fact, with a digest of its text to detect changes.
type item struct {
	ID   string `json:"id"`
	Text uint16 `json:"text"` // digest of the text
}

// digest returns a checksum that almost always shows whether a text was changed, and that is
// too short to confirm a guess of the text.
func digest(text string) uint16 {
	sum := sha256.Sum256([]byte(text))
	return uint16(sum[0])<<8 | uint16(sum[1])
}

// job returns the job of a batch. The same facts with the same texts give the same job in any
// order.
func (b batch) job(kind string) (jobs.New, error) {
	slices.SortFunc(b.Facts, func(x, y item) int { return cmp.Compare(x.ID, y.ID) })
	h := sha256.New()
	for _, f := range b.Facts {
		fmt.Fprintf(h, "%s %d\n", f.ID, f.Text)
	}
	payload, err := json.Marshal(b)
	return jobs.New{Kind: kind, Key: hex.EncodeToString(h.Sum(nil)[:16]), Payload: payload}, err
}

// group holds facts of one entity in one scope, which a model may see together.
type group struct {
	scope  ken.Scope
	entity string
	facts  []ken.Claim
}

// groups groups facts by scope and entity.
func groups(facts []ken.Claim) (out []group) {
	for i := range facts {
		k := &facts[i]
		g := group{k.Scope, analysis.Entities(k.Entities)[0], []ken.Claim{*k}}
		at := slices.IndexFunc(out, func(o group) bool { return o.scope == g.scope && o.entity == g.entity })
		if at < 0 {
			out = append(out, g)
		} else {
			out[at].facts = append(out[at].facts, *k)
		}
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.scope.String(), b.scope.String()), cmp.Compare(a.entity, b.entity))
	})
	return out
}

// batches splits facts into batches of up to n facts of one scope. Facts of one session and of
// one entity are kept together.
func batches(facts []ken.Claim, n int) (out []batch) {
	byScope := map[string][]ken.Claim{}
	for i := range facts {
		scope := facts[i].Scope.String()
		byScope[scope] = append(byScope[scope], facts[i])
	}
	for _, scope := range slices.Sorted(maps.Keys(byScope)) {
		list := byScope[scope]
		slices.SortStableFunc(list, func(a, b ken.Claim) int {
			return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(analysis.Entities(a.Entities)[0], analysis.Entities(b.Entities)[0]))
		})
		for chunk := range slices.Chunk(list, n) {
			var b batch
			for i := range chunk {
				b.Facts = append(b.Facts, item{chunk[i].ID, digest(chunk[i].Text)})
			}
			out = append(out, b)
		}
	}
	return out
}

// addressesModel matches statements that address the model which files them. They may be facts
// about filing, so they are not refused for it.
var addressesModel = lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruct|prompt|rule|above|previous|prior|everything)` +
	`|\b(?:answer|respond|reply|output|return|classify|label|mark|treat|file|report)\b.{0,60}\b(?:constraints?|attributes?|aspects?|dep_t\w+|json|every|all)\b` +
	`|\b(?:every|all|each|any)\b.{0,40}\b(?:is|are|as)\b.{0,20}\bconstraints?\b|/no_think|\bsystem prompt\b|IMPORTANT:`)

// askable reports whether a model is asked about a claim. It is not asked about claims that
// might influence the answer about others, because they are from an external source or address
// the model. Neither is it asked about claims that Ken worded from tool calls, which the rules
// file correctly.
func askable(k *ken.Claim) bool {
	return k.Kind != ken.KindPattern && k.Kind != ken.KindFinding && !isExternal(k) && !addressesModel.MatchString(k.Text)
}

// load returns the current state of a batch's facts: those that are valid, have the same text
// as before, and that want accepts.
func (c *Classifier) load(ctx context.Context, b *batch, want func(*ken.Claim) bool) ([]ken.Claim, error) {
	var out []ken.Claim
	for _, f := range b.Facts {
		k, err := c.st.Get(ctx, f.ID)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a fact: %w", err)
		}
		if Atomic(&k) && isValid(&k, c.o.Now()) && digest(k.Text) == f.Text && hasPrimary(&k) && want(&k) {
			out = append(out, k)
		}
	}
	return out, nil
}

// hasPrimary reports whether a claim has a primary entity.
func hasPrimary(k *ken.Claim) bool {
	return len(k.Entities) > 0 && analysis.Entity(k.Entities[0]) != ""
}

// maxText is how much of a fact a model sees, in characters. A claim may be a long document.
const maxText = 600

func excerpt(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	n := 0
	for i := range text {
		if n++; n > maxText {
			return text[:i] + "…"
		}
	}
	return text
}

// ErrLeave is wrapped by an error of Ask if the model must not be asked, for example because
// the day's tokens are used up. The claims stay as the rules filed them.
var ErrLeave = errors.New("the model must not be asked")

// errNoModel is the error of a job if no model is configured.
var errNoModel = &ken.Error{Code: ken.CodeUnavailable, Field: "structure.classify", Msg: "no model is configured",
	Try: "Set harvest.model, or remove the job with ken jobs rm: rules have filed the claims."}

// ask sends a request, unless the model has just failed.
func (c *Classifier) ask(ctx context.Context, g *modelBackoff, t task, data any) (string, error) {
	if c.o.Ask == nil {
		return "", errNoModel
	}
	r, err := c.request(t, data)
	if err != nil {
		return "", err
	}
	if err := g.refusal(); err != nil {
		return "", err
	}
	if err := g.waitUntilAllowed(ctx); err != nil {
		return "", err
	}
	text, err := c.o.Ask(ctx, r)
	c.count(func(n *Counts) {
		n.Requests++
		if err != nil {
			n.Failures++
		}
	})
	if ctx.Err() != nil { // the error says nothing about the model
		return "", ctx.Err()
	}
	if errors.Is(err, ErrLeave) {
		return "", err
	}
	g.recordOutcome(err)
	if err != nil {
		return "", fmt.Errorf("ask the model: %w", err)
	}
	return text, nil
}

// parse parses a job's payload.
func parse(j *jobs.Job) (b batch, err error) {
	if err = json.Unmarshal(j.Payload, &b); err != nil {
		err = jobs.Permanent(fmt.Errorf("read job: %w", err))
	}
	return b, err
}

// Kinds of jobs.
const (
	JobClassify   = "structural_classify"
	JobDependency = "structural_dependency" // added by earlier versions; runs like JobClassify
)

// Numbers of facts in one request. Small models (4B) omit some facts of more than ten; omitted
// facts stay as the rules filed them.
const (
	DefaultFacts = 40
	MaxFacts     = 100
)

// MinConfidence is the minimum confidence, 0..1, with which rules file an old claim. Below it
// the claim is left unfiled, and counted.
const MinConfidence = 0.4

// Options configures a Classifier; the zero value files by rules.
type Options struct {
	// Ask asks the model; nil means no model, and no jobs are added.
	Ask   Ask
	Model string // name of the model, for the evidence of dependencies
	// NoRules leaves dependencies to the model. Without a model, rules find them anyway.
	NoRules bool

	Facts int // maximum number of facts in one request, at most MaxFacts; default DefaultFacts

	// Settle is how long Follow waits after a write before it adds jobs, so that one request
	// asks about claims that are written together; default 2 s.
	Settle time.Duration
	// GiveWay is called before each claim. It may block while there is more urgent work. May
	// be nil.
	GiveWay func(context.Context)
	// Rest is how long Follow waits between two batches of old claims; default 20 ms.
	Rest time.Duration
	// Wake is called when jobs were added; may be nil.
	Wake func()

	Now func() time.Time // default time.Now
	Log *slog.Logger     // receives no text of claims; nil logs nothing
}

func (o Options) withDefaults() Options {
	o.Facts = cmp.Or(max(o.Facts, 0), DefaultFacts)
	o.Facts = min(o.Facts, MaxFacts)
	o.Settle = cmp.Or(max(o.Settle, 0), 2*time.Second)
	if o.GiveWay == nil {
		o.GiveWay = func(context.Context) {}
	}
	o.Rest = cmp.Or(max(o.Rest, 0), 20*time.Millisecond)
	if o.Ask == nil {
		o.NoRules = false
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Classifier files one owner's claims. It is safe for concurrent use, and several classifiers
// may work on one store.
type Classifier struct {
	st Store
	o  Options

	backoff modelBackoff // backoff of requests to the model

	mu      sync.Mutex // guards pending
	pending Counts     // counts that are not on the shelf yet
}

// New returns a classifier for a store.
func New(st Store, o Options) *Classifier { return &Classifier{st: st, o: o.withDefaults()} }

// Atomic reports whether a claim is a single statement, which belongs under one aspect. Pieces
// of the repository, summaries, procedures and claims of the structure itself are not.
func Atomic(c *ken.Claim) bool {
	switch c.Kind {
	case ken.KindDocument, ken.KindEpisode, ken.KindPlaybook:
		return false
	}
	return !c.Kind.Structural()
}

// isValid reports whether a claim is valid at now: its status is one that recall uses, and it
// has not expired.
func isValid(c *ken.Claim, now time.Time) bool {
	switch c.Status {
	case ken.StatusObserved, ken.StatusInferred, ken.StatusVerified:
		return !c.Expired(now)
	}
	return false
}

// isExternal reports whether a claim has at most the trust of an external source.
func isExternal(c *ken.Claim) bool { return !c.Support(nil).Trust.AtLeast(ken.TrustAgent) }

// Handlers returns the handlers of the jobs, for a queue over the store's shelf.
func (c *Classifier) Handlers() map[string]jobs.Handler {
	return map[string]jobs.Handler{JobClassify: c.fileJob, JobDependency: c.fileJob}
}

// Work runs jobs as they are added, until ctx ends. It does nothing without a model.
func (c *Classifier) Work(ctx context.Context, q *jobs.Queue) {
	if c.o.Ask != nil {
		_ = q.Work(ctx, c.Handlers()) // nil when ctx ends
	}
}

// errModelFails is the cause with which Drain stops.
var errModelFails = errors.New("the model does not answer")

// Drain runs the jobs that are due, and returns. If the model does not answer, the remaining
// jobs are left in the queue.
func (c *Classifier) Drain(ctx context.Context, q *jobs.Queue) (jobs.Report, error) {
	if c.o.Ask == nil {
		return jobs.Report{}, nil
	}
	pass, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	failed := false
	handlers := map[string]jobs.Handler{}
	for kind, h := range c.Handlers() {
		handlers[kind] = func(ctx context.Context, j jobs.Job, progress func(string, int, int)) (string, error) {
			if failed {
				stop(errModelFails)
				return "", errModelFails // the pass was stopped, so this is no attempt
			}
			note, err := h(ctx, j, progress)
			failed = err != nil
			return note, err
		}
	}
	r, err := q.Drain(pass, handlers)
	if errors.Is(context.Cause(pass), errModelFails) && ctx.Err() == nil {
		err = nil
	}
	return r, err
}

// settle writes the counts of a job that has ended, and returns its error.
func (c *Classifier) settle(ctx context.Context, err error) error {
	if kept := c.flush(context.WithoutCancel(ctx), nil, nil); kept != nil && err == nil {
		c.o.Log.DebugContext(ctx, "counts are not kept", "cause", kept)
	}
	return err
}

// Reasons why a proposal of a model or a rule is refused. They are the keys of Counts.Refused.
const (
	refusedRow       = "row"       // missing in the answer, or malformed
	refusedAspect    = "aspect"    // not usable as the name of an aspect
	refusedExternal  = "external"  // a rule from an external source
	refusedDoubtful  = "doubtful"  // one of too many rules in one answer
	refusedType      = "type"      // not a type of dependency
	refusedName      = "name"      // not a name
	refusedUnknown   = "unknown"   // no known thing has that name
	refusedAmbiguous = "ambiguous" // the name stands for several things
	refusedLoop      = "loop"      // a thing would depend on itself
)

// Counts is the total of what was done with a store's claims. A claim that is processed
// several times may be counted several times.
type Counts struct {
	Filed        uint64 `json:"filed"`        // by rules, in the background
	Unsure       uint64 `json:"unsure"`       // left unfiled: confidence below MinConfidence
	Unread       uint64 `json:"unread"`       // left unfiled: the rules found nothing in them
	Dependencies uint64 `json:"dependencies"` // written or confirmed by rules
	Retracted    uint64 `json:"retracted"`    // dependencies that nothing states any more

	Asked     uint64 `json:"asked"`      // facts, in pass 2a
	Model     uint64 `json:"model"`      // of Asked, filed as the model said
	Left      uint64 `json:"left"`       // of Asked, left as the rules had filed them
	AskedTies uint64 `json:"asked_ties"` // facts, in pass 2b
	Ties      uint64 `json:"ties"`       // dependencies that the model found or confirmed
	LeftTies  uint64 `json:"left_ties"`  // facts in pass 2b without a usable row in the answer
	Requests  uint64 `json:"requests"`   // requests to the model
	Failures  uint64 `json:"failures"`   // of Requests, without an answer

	Refused map[string]uint64 `json:"refused,omitempty"` // refused proposals, by reason
}

func (n *Counts) refuse(why string) {
	if n.Refused == nil {
		n.Refused = map[string]uint64{}
	}
	n.Refused[why]++
}

func (n *Counts) add(o *Counts) {
	more := o.numbers()
	for i, p := range n.numbers() {
		*p += *more[i]
	}
	for why, k := range o.Refused {
		if n.Refused == nil {
			n.Refused = map[string]uint64{}
		}
		n.Refused[why] += k
	}
}

func (n *Counts) zero() bool {
	return len(n.Refused) == 0 && !slices.ContainsFunc(n.numbers(), func(p *uint64) bool { return *p != 0 })
}

func (n *Counts) numbers() []*uint64 {
	return []*uint64{&n.Filed, &n.Unsure, &n.Unread, &n.Dependencies, &n.Retracted, &n.Asked, &n.Model, &n.Left,
		&n.AskedTies, &n.Ties, &n.LeftTies, &n.Requests, &n.Failures}
}

// ByOutcome returns the counts by the names that metrics use.
func (n *Counts) ByOutcome() map[string]uint64 {
	out := map[string]uint64{"rules": n.Filed, "model": n.Model, "left": n.Left, "unsure": n.Unsure, "unread": n.Unread,
		"ties_rules": n.Dependencies, "ties_model": n.Ties, "retracted": n.Retracted, "refused": 0}
	for _, k := range n.Refused {
		out["refused"] += k
	}
	return out
}

// State is the progress of filing a store's claims.
type State struct {
	Rules  uint64 `json:"rules"` // last event that the rules have processed
	Model  uint64 `json:"model"` // last event for which jobs were added
	Counts Counts `json:"counts"`
}

// Status returns the progress of filing a store's claims. It is quick, since it reads no
// claims. Both positions may be some moments behind the log.
func Status(ctx context.Context, shelf store.Shelf) (State, error) {
	var s State
	err := shelf.View(ctx, func(r store.ShelfReader) error {
		s = State{Rules: readMark(r, keyRules, rulesVersion).Seq, Model: readMark(r, keyModel, modelVersion).Seq}
		return readValue(r, keyCounts, &s.Counts)
	})
	return s, err
}

// Coverage counts the valid claims by whether they are filed.
type Coverage struct {
	Claims   int `json:"claims"`   // valid atomic claims
	Entities int `json:"entities"` // of Claims, with an entity
	Filed    int `json:"filed"`    // of Entities, with an aspect too
	Rules    int `json:"rules"`    // filed by rules
	Model    int `json:"model"`    // filed by a model
	Operator int `json:"operator"` // filed by an operator
}

// Scanner yields claims; store.Claims implements it.
type Scanner interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

// Share returns the part of the claims that are filed, 0..1; 1 if there are no claims.
func (v Coverage) Share() float64 {
	if v.Claims == 0 {
		return 1
	}
	return float64(v.Filed) / float64(v.Claims)
}

// Cover counts claims. It reads every claim, which takes about a second for 100,000, so it is
// meant for a person's query and not for a metrics scrape.
func Cover(ctx context.Context, st Scanner, f *ken.Filter) (Coverage, error) {
	var v Coverage
	if f == nil {
		f = &ken.Filter{}
	}
	for c, err := range st.Scan(ctx, f, nil) {
		if err != nil {
			return v, err
		}
		if !Atomic(&c) {
			continue
		}
		v.Claims++
		if len(c.Entities) == 0 {
			continue
		}
		v.Entities++
		if c.Aspect == "" {
			continue
		}
		v.Filed++
		switch c.AssignedBy {
		case ken.AssignedByRules:
			v.Rules++
		case ken.AssignedByModel:
			v.Model++
		case ken.AssignedByOperator:
			v.Operator++
		}
	}
	return v, nil
}

// refuse counts a refused proposal.
func (c *Classifier) refuse(why string) { c.count(func(n *Counts) { n.refuse(why) }) }

// count changes the pending counts, which flush writes.
func (c *Classifier) count(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.pending)
}

// take returns the pending counts and resets them.
func (c *Classifier) take() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.pending
	c.pending = Counts{}
	return n
}

func (c *Classifier) giveBack(n *Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.add(n)
}

func addCounts(tx store.ShelfTx, n *Counts) error {
	var have Counts
	if err := readValue(tx, keyCounts, &have); err != nil {
		have = Counts{} // unreadable counts are no reason to stop
	}
	have.add(n)
	return putValue(tx, keyCounts, &have)
}
