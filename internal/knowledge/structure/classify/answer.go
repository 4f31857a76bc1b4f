package classify

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/store"
)

// rows takes the rows of an answer out of a model's text: the object that was asked
// for, in a fence or behind some prose or reasoning; a bare list; or, of an answer
// that was cut off, the rows that are whole. What is no row is left out.
func rows(text string) []json.RawMessage {
	text = strings.TrimSpace(text)
	if found, ok := object([]byte(text)); ok {
		return found
	}
	text = guardrail.StripReasoning(text)
	var loose []json.RawMessage
	const tries = 256 // each reads up to the whole text
	braces := 0
	for i := 0; i < len(text) && braces < tries; i++ {
		if text[i] != '{' {
			continue
		}
		braces++
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			continue // what is inside may be whole
		}
		if found, ok := object(raw); ok {
			return found
		}
		loose = append(loose, raw)
		i += int(dec.InputOffset()) - 1 // what is inside belongs to it
	}
	return loose
}

// object reads the form that was asked for.
func object(raw []byte) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return list, true
	}
	var o struct {
		Facts []json.RawMessage `json:"facts"`
	}
	if json.Unmarshal(raw, &o) != nil || o.Facts == nil {
		return nil, false
	}
	return o.Facts, true
}

// verdict is a row of pass 2a.
type verdict struct {
	aspect     string
	constraint bool
}

// verdicts reads the rows of pass 2a by number, from 1 to n. A number that is given
// twice, with different verdicts, has none.
func verdicts(text string, n int) map[int]verdict {
	out, bad := map[int]verdict{}, map[int]bool{}
	for _, raw := range rows(text) {
		var r struct {
			I      number  `json:"i"`
			Aspect *string `json:"aspect"`
			Kind   string  `json:"kind"`
		}
		if json.Unmarshal(raw, &r) != nil || r.Aspect == nil || !r.I.within(n) {
			continue
		}
		v := verdict{aspect: *r.Aspect}
		switch strings.ToLower(strings.TrimSpace(r.Kind)) {
		case "constraint":
			v.constraint = true
		case "attribute":
		default:
			continue
		}
		if have, twice := out[int(r.I)]; twice && have != v {
			bad[int(r.I)] = true
		}
		out[int(r.I)] = v
	}
	for i := range bad {
		delete(out, i)
	}
	return out
}

// dependencyRow is what a row of pass 2b says: "" for nothing.
type dependencyRow struct{ target, kind string }

// dependencyRows reads the rows of pass 2b by number, from 1 to n; a fact may have several. One
// that says of nothing is there, empty.
func dependencyRows(text string, n int) map[int][]dependencyRow {
	out := map[int][]dependencyRow{}
	for _, raw := range rows(text) {
		var r struct {
			I      number  `json:"i"`
			Target *string `json:"dep_target"`
			Type   *string `json:"dep_type"`
		}
		if json.Unmarshal(raw, &r) != nil || !r.I.within(n) {
			continue
		}
		t := dependencyRow{}
		if r.Target != nil && r.Type != nil {
			t = dependencyRow{strings.TrimSpace(*r.Target), strings.ToLower(strings.TrimSpace(*r.Type))}
		}
		if len(out[int(r.I)]) < maxTies {
			out[int(r.I)] = append(out[int(r.I)], t)
		}
	}
	return out
}

// maxTies bounds what one fact may tie its subject to.
const maxTies = 4

// number is a row's, which some models write as a string.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	var i int
	if err := json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &i); err != nil {
		return err
	}
	*n = number(i)
	return nil
}

func (n number) within(most int) bool { return n >= 1 && int(n) <= most }

// Request is one question to a model.
type Request struct {
	Name        string // of the answer's form: letters and underscores
	System      string // the rules
	User        string // the data, as JSON
	Schema      json.RawMessage
	Temperature float64
}

// Ask sends a request to a model and returns its text, as it came. An error means
// that there was no answer. It must be safe for concurrent use.
type Ask func(ctx context.Context, r Request) (string, error)

// temperature of every request: sorting is no matter of taste.
const temperature = 0.1

// reasoningModels are models that think unless they are told not to, and read the switch.
// Later ones of the same names don't know it, and would take it for a word.
var reasoningModels = lazyregexp.New(`(?:^|[/_.-])(?:qwen-?3(?:-(?:\d+(?:\.\d+)?b|a\d+b)|[:_-]|$)|smollm-?3(?:[:_-]|$))`)

var unswitched = lazyregexp.New(`2507|coder|next|vl|omni|embed|rerank`)

// NoThink reports whether a model of that name knows the switch /no_think, which
// keeps it from reasoning before it answers.
func NoThink(model string) bool {
	model = strings.ToLower(model)
	return reasoningModels.MatchString(model) && !unswitched.MatchString(model)
}

// request makes the request of a task. data becomes JSON, in which no text can look
// like the end of itself.
func (c *Classifier) request(t task, data any) (Request, error) {
	user, err := json.Marshal(data)
	if err != nil {
		return Request{}, err
	}
	r := Request{Name: t.name, System: t.rules, User: string(user), Schema: t.schema, Temperature: temperature}
	if NoThink(c.o.Model) {
		r.User += "\n/no_think"
	}
	return r, nil
}

// Pauses after a model that did not answer. They double, so that a model that is
// down for a night is asked some dozens of times, however many jobs wait.
const (
	firstPause = 5 * time.Second
	lastPause  = 10 * time.Minute
)

// modelBackoff keeps a pass from asking a model that fails, for a while. The zero value is
// open.
type modelBackoff struct {
	mu    sync.Mutex // guards the rest
	until time.Time
	pause time.Duration

	refused      error // what asking again would meet again, such as a wrong key
	refusedUntil time.Time
}

// refusal returns why the model is not asked for now: it refused what can't be mended by asking
// again. Nil means that it may be asked.
func (g *modelBackoff) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused != nil && time.Now().Before(g.refusedUntil) {
		return g.refused
	}
	return nil
}

// waitUntilAllowed returns when the model may be asked, or ctx ends.
func (g *modelBackoff) waitUntilAllowed(ctx context.Context) error {
	for {
		g.mu.Lock()
		d := time.Until(g.until)
		g.mu.Unlock()
		if d <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// recordOutcome tells what came of it.
func (g *modelBackoff) recordOutcome(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.pause, g.until = 0, time.Time{}
		return
	case errors.Is(err, ken.ErrInvalid):
		g.refused, g.refusedUntil = err, time.Now().Add(lastPause)
		return
	}
	g.pause = min(max(2*g.pause, firstPause), lastPause)
	wait := g.pause
	var throttled *embed.Throttled
	if errors.As(err, &throttled) {
		wait = max(wait, throttled.After)
	}
	g.until = time.Now().Add(wait)
}

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Store is what is read and written: an owner's store.Engine is one.
type Store interface {
	structure.Source
	Writer

	// Get reads a claim by its id; ErrNotFound when there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// ByKey reads the claim that holds a key; ErrNotFound when none does.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Claim reads a record; ErrNotFound when it is gone.
	Claim(ctx context.Context, ref store.Ref) (ken.Claim, error)
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)

	// Events yields the log from a sequence number on, oldest first.
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	// Seq is the number of the log's last event.
	Seq() uint64
	// Wait returns when the log holds an event after seq, or ctx ends.
	Wait(ctx context.Context, seq uint64) error
	// Shelf is the owner's room for what is not knowledge.
	Shelf() store.Shelf
}

// Writer is what changes in a store.
type Writer interface {
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	Transition(ctx context.Context, t ken.Transition) error
	Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error)
}

// actor is who writes what is found out here.
var actor = ken.Actor{Type: "system", ID: "structure"}
