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

// batch is the payload of a job: some facts, of one scope when the job was added. It has none of their words, which may be forgotten before it is.
type batch struct {
	Facts []item `json:"facts"`
}

// item is a fact, and whether it says what it said then.
type item struct {
	ID   string `json:"id"`
	Text uint16 `json:"text"` // digest
}

// digest tells whether a text was changed, nearly always, and is too short to confirm
// a guess of what it was.
func digest(text string) uint16 {
	sum := sha256.Sum256([]byte(text))
	return uint16(sum[0])<<8 | uint16(sum[1])
}

// job makes the job of a batch. The same facts, saying the same, are the same job in
// whichever order.
func (b batch) job(kind string) (jobs.New, error) {
	slices.SortFunc(b.Facts, func(x, y item) int { return cmp.Compare(x.ID, y.ID) })
	h := sha256.New()
	for _, f := range b.Facts {
		fmt.Fprintf(h, "%s %d\n", f.ID, f.Text)
	}
	payload, err := json.Marshal(b)
	return jobs.New{Kind: kind, Key: hex.EncodeToString(h.Sum(nil)[:16]), Payload: payload}, err
}

// group is facts of one entity in one scope, which a model may see together.
type group struct {
	scope  ken.Scope
	entity string
	facts  []ken.Claim
}

// groups sorts facts into groups, by scope and entity.
func groups(facts []ken.Claim) (out []group) {
	for i := range facts {
		k := &facts[i]
		g := group{k.Scope, spelled(k.Entities)[0], []ken.Claim{*k}}
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

// batches cuts facts into batches of up to n of one scope, those of one session and of one
// entity together.
func batches(facts []ken.Claim, n int) (out []batch) {
	byScope := map[string][]ken.Claim{}
	for i := range facts {
		scope := facts[i].Scope.String()
		byScope[scope] = append(byScope[scope], facts[i])
	}
	for _, scope := range slices.Sorted(maps.Keys(byScope)) {
		list := byScope[scope]
		slices.SortStableFunc(list, func(a, b ken.Claim) int {
			return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(spelled(a.Entities)[0], spelled(b.Entities)[0]))
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

// addressesModel matches statements that speak to the model which files them. They may well be facts about
// filing facts, so nothing is refused for it.
var addressesModel = lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruct|prompt|rule|above|previous|prior|everything)` +
	`|\b(?:answer|respond|reply|output|return|classify|label|mark|treat|file|report)\b.{0,60}\b(?:constraints?|attributes?|aspects?|dep_t\w+|json|every|all)\b` +
	`|\b(?:every|all|each|any)\b.{0,40}\b(?:is|are|as)\b.{0,20}\bconstraints?\b|/no_think|\bsystem prompt\b|IMPORTANT:`)

// askable reports whether a model is asked about a claim at all. Not about what might have it
// say something about others, because it is from an external source or talks to the model; and
// not about what Ken itself has worded of tool calls, which the rules file rightly.
func askable(k *ken.Claim) bool {
	return k.Kind != ken.KindPattern && k.Kind != ken.KindFinding && !external(k) && !addressesModel.MatchString(k.Text)
}

// load reads a batch's facts as they are now: those that stand, say what they said,
// and that want lets pass.
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
		if Atomic(&k) && stands(&k, c.o.Now()) && digest(k.Text) == f.Text && named(&k) && want(&k) {
			out = append(out, k)
		}
	}
	return out, nil
}

// named reports whether a claim has a primary entity.
func named(k *ken.Claim) bool { return len(k.Entities) > 0 && analysis.Entity(k.Entities[0]) != "" }

// maxText is what a model sees of a fact, in characters. A claim may be a document.
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

// ErrLeave is wrapped by an error of Ask that says that the model must not be asked, as where
// the tokens of a day are used up. The claims are left as the rules filed them.
var ErrLeave = errors.New("the model is not to be asked")

// errNoModel is why a job can't run where no model is configured.
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
	if ctx.Err() != nil { // that says nothing about the model
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

// parse reads a job's payload.
func parse(j *jobs.Job) (b batch, err error) {
	if err = json.Unmarshal(j.Payload, &b); err != nil {
		err = jobs.Permanent(fmt.Errorf("read job: %w", err))
	}
	return b, err
}

// Kinds of the jobs.
const (
	JobClassify   = "structural_classify"
	JobDependency = "structural_dependency" // as earlier versions added them; run as the other
)

// Bounds of the facts that a model is asked about at once. Small models (4B) drop some of more
// than ten; what they drop stays as the rules filed it.
const (
	DefaultFacts = 40
	MaxFacts     = 100
)

// MinConfidence is what rules need to be sure of, at least, of what an old claim is
// about, 0..1. Below it the claim is left unfiled, and counted.
const MinConfidence = 0.4

// Options configures a Classifier; the zero value files by rules.
type Options struct {
	// Ask asks the model; nil is none, and no jobs are added.
	Ask   Ask
	Model string // its name, which stands in the evidence of dependencies
	// NoRules leaves dependencies to the model. What no model is there for, rules do
	// all the same.
	NoRules bool

	Facts int // in one request, at most MaxFacts; default DefaultFacts

	// Settle is how long Follow waits after a write before it adds jobs, so that claims
	// that are written together are asked about together; default 2 s.
	Settle time.Duration
	// GiveWay is called before each claim, and may wait while there is something more
	// urgent to do. May be nil.
	GiveWay func(context.Context)
	// Rest is how long Follow rests between two batches of old claims; default 20 ms.
	Rest time.Duration
	// Wake is told when jobs were added; may be nil.
	Wake func()

	Now func() time.Time // default time.Now
	Log *slog.Logger     // hears of no text; default: nothing is logged
}

func (o Options) withDefaults() Options {
	if o.Facts <= 0 {
		o.Facts = DefaultFacts
	}
	o.Facts = min(o.Facts, MaxFacts)
	if o.Settle <= 0 {
		o.Settle = 2 * time.Second
	}
	if o.GiveWay == nil {
		o.GiveWay = func(context.Context) {}
	}
	if o.Rest <= 0 {
		o.Rest = 20 * time.Millisecond
	}
	if o.Ask == nil {
		o.NoRules = false
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Classifier files one owner's claims. It is safe for concurrent use; any number of
// them may work on one store.
type Classifier struct {
	st Store
	o  Options

	backoff modelBackoff // of the model

	mu      sync.Mutex // guards pending
	pending Counts     // not on the shelf yet
}

// New returns a classifier of a store.
func New(st Store, o Options) *Classifier { return &Classifier{st: st, o: o.withDefaults()} }

// Atomic reports whether a claim is a single statement, which belongs under one
// aspect: no piece of the repository, no summary, no procedure, and none of the
// structure's own.
func Atomic(c *ken.Claim) bool {
	switch c.Kind {
	case ken.KindDocument, ken.KindEpisode, ken.KindPlaybook:
		return false
	}
	return !c.Kind.Structural()
}

// stands reports whether a claim is held to be true at now.
func stands(c *ken.Claim, now time.Time) bool {
	switch c.Status {
	case ken.StatusObserved, ken.StatusInferred, ken.StatusVerified:
		return !c.Expired(now)
	}
	return false
}

// external reports whether a claim is as trusted as an external source at most.
func external(c *ken.Claim) bool { return !c.Support(nil).Trust.AtLeast(ken.TrustAgent) }

// Handlers is who runs which job, for a queue over the store's shelf.
func (c *Classifier) Handlers() map[string]jobs.Handler {
	return map[string]jobs.Handler{JobClassify: c.fileJob, JobDependency: c.fileJob}
}

// Work runs the jobs as they come until ctx ends. It does nothing without a model.
func (c *Classifier) Work(ctx context.Context, q *jobs.Queue) {
	if c.o.Ask != nil {
		_ = q.Work(ctx, c.Handlers()) // nil when ctx ends
	}
}

// errModelFails ends a Drain.
var errModelFails = errors.New("the model does not answer")

// Drain runs the jobs that are due, and returns. Where the model does not answer, the jobs
// after that one wait as they are.
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
				return "", errModelFails // it was told to stop, so that is no attempt
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

// settle keeps the counts of a job that has ended, and says what to do about its
// error.
func (c *Classifier) settle(ctx context.Context, err error) error {
	if kept := c.flush(context.WithoutCancel(ctx), nil, nil); kept != nil && err == nil {
		c.o.Log.DebugContext(ctx, "counts are not kept", "cause", kept)
	}
	return err
}

// Reasons for which something that a model or a rule proposed is refused: the keys
// of Counts.Refused.
const (
	refusedRow       = "row"       // not in the answer, or not as it was asked for
	refusedAspect    = "aspect"    // no name for an aspect
	refusedExternal  = "external"  // a rule by an external source
	refusedDoubtful  = "doubtful"  // one of too many rules at once
	refusedType      = "type"      // no type of dependency
	refusedName      = "name"      // no name
	refusedUnknown   = "unknown"   // nothing that is known has that name
	refusedAmbiguous = "ambiguous" // the name stands for several things
	refusedLoop      = "loop"      // a thing that depends on itself
)

// Counts is what was done with a store's claims, ever. Claims that are looked at
// several times may count as often.
type Counts struct {
	Filed        uint64 `json:"filed"`        // by rules, in the background
	Unsure       uint64 `json:"unsure"`       // left unfiled: confidence below MinConfidence
	Unread       uint64 `json:"unread"`       // left unfiled: the rules read nothing in them
	Dependencies uint64 `json:"dependencies"` // written by rules, or seen again
	Retracted    uint64 `json:"retracted"`    // dependencies that nothing states any more

	Asked     uint64 `json:"asked"`      // facts, in pass 2a
	Model     uint64 `json:"model"`      // of these, filed as the model said
	Left      uint64 `json:"left"`       // of these, left as the rules had filed them
	AskedTies uint64 `json:"asked_ties"` // facts, in pass 2b
	Ties      uint64 `json:"ties"`       // dependencies that the model found, or saw again
	LeftTies  uint64 `json:"left_ties"`  // facts of pass 2b that it gave no usable row for
	Requests  uint64 `json:"requests"`   // to the model
	Failures  uint64 `json:"failures"`   // of these, without an answer

	Refused map[string]uint64 `json:"refused,omitempty"` // proposals, by reason
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

// ByOutcome names the counts as metrics do.
func (n *Counts) ByOutcome() map[string]uint64 {
	out := map[string]uint64{"rules": n.Filed, "model": n.Model, "left": n.Left, "unsure": n.Unsure, "unread": n.Unread,
		"ties_rules": n.Dependencies, "ties_model": n.Ties, "retracted": n.Retracted, "refused": 0}
	for _, k := range n.Refused {
		out["refused"] += k
	}
	return out
}

// State is how far the structure of a store has come.
type State struct {
	Rules  uint64 `json:"rules"` // the last event that the rules have looked at
	Model  uint64 `json:"model"` // the last event that jobs were added for
	Counts Counts `json:"counts"`
}

// Status reads how far a store's structure has come. It is quick: no claim is read.
// Both numbers trail the log by what was written in the last moments.
func Status(ctx context.Context, shelf store.Shelf) (State, error) {
	var s State
	err := shelf.View(ctx, func(r store.ShelfReader) error {
		s = State{}
		for _, f := range []struct {
			key     string
			version int
			to      *uint64
		}{{keyRules, rulesVersion, &s.Rules}, {keyModel, modelVersion, &s.Model}} {
			*f.to = readMark(r, f.key, f.version).Seq
		}
		return readValue(r, keyCounts, &s.Counts)
	})
	return s, err
}

// Coverage is how many claims that stand are filed.
type Coverage struct {
	Claims   int `json:"claims"`   // atomic ones that stand
	Entities int `json:"entities"` // of these, with an entity
	Filed    int `json:"filed"`    // of these, with an aspect too
	Rules    int `json:"rules"`    // filed by rules
	Model    int `json:"model"`    // filed by a model
	Operator int `json:"operator"` // filed by an operator
}

// Scanner reads claims one after another, as store.Claims does.
type Scanner interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

// Share is the part of the claims that are filed, 0..1; 1 for none.
func (v Coverage) Share() float64 {
	if v.Claims == 0 {
		return 1
	}
	return float64(v.Filed) / float64(v.Claims)
}

// Cover counts claims. It reads every one, which takes about a second for 100,000:
// for a person who asks, not for a scrape.
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

// count takes something down that flush writes.
func (c *Classifier) count(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.pending)
}

// take empties what is pending.
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
		have = Counts{} // counts that can't be read are no reason to stop
	}
	have.Refused = maps.Clone(have.Refused)
	have.add(n)
	b, err := json.Marshal(&have)
	if err != nil {
		return err
	}
	return tx.Put(keyCounts, b)
}
