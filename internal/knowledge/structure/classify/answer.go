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

// rows extracts the rows of an answer from a model's text. The text may hold the requested
// object, in a fence or after prose or reasoning; a list without an object; or a truncated
// answer, whose complete rows are returned. Anything else is skipped.
func rows(text string) []json.RawMessage {
	text = strings.TrimSpace(text)
	if found, ok := object([]byte(text)); ok {
		return found
	}
	text = guardrail.StripReasoning(text)
	var loose []json.RawMessage
	const tries = 256 // each parses up to the whole text
	braces := 0
	for i := 0; i < len(text) && braces < tries; i++ {
		if text[i] != '{' {
			continue
		}
		braces++
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			continue // an object inside may be complete
		}
		if found, ok := object(raw); ok {
			return found
		}
		loose = append(loose, raw)
		i += int(dec.InputOffset()) - 1 // objects inside belong to this one
	}
	return loose
}

// object parses the requested form.
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

// verdict is a row of the answer of pass 2a.
type verdict struct {
	aspect     string
	constraint bool
}

// verdicts parses the rows of pass 2a by number, from 1 to n. A number with two different
// verdicts is left out.
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

// dependencyRow is a row of the answer of pass 2b. Its fields are "" for a fact that states no
// dependency.
type dependencyRow struct{ target, kind string }

// dependencyRows parses the rows of pass 2b by number, from 1 to n. A fact may have several
// rows. A fact without a dependency has an empty one.
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

// maxTies bounds the dependencies that one fact may state.
const maxTies = 4

// number is a row's number, which some models write as a string.
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
	Name        string // name of the answer's format: letters and underscores
	System      string // the rules
	User        string // the data, as JSON
	Schema      json.RawMessage
	Temperature float64
}

// Ask sends a request to a model and returns its text unchanged. An error means that there was
// no answer. It must be safe for concurrent use.
type Ask func(ctx context.Context, r Request) (string, error)

// temperature is used for every request. It is low because sorting needs no variety.
const temperature = 0.1

// reasoningModels matches models that reason unless told not to and that know the switch
// /no_think. unswitched matches later ones with the same names, which would take it for a word.
var reasoningModels = lazyregexp.New(`(?:^|[/_.-])(?:qwen-?3(?:-(?:\d+(?:\.\d+)?b|a\d+b)|[:_-]|$)|smollm-?3(?:[:_-]|$))`)

var unswitched = lazyregexp.New(`2507|coder|next|vl|omni|embed|rerank`)

// NoThink reports whether a model of that name knows the switch /no_think, which keeps it from
// reasoning before it answers.
func NoThink(model string) bool {
	model = strings.ToLower(model)
	return reasoningModels.MatchString(model) && !unswitched.MatchString(model)
}

// request returns the request for a task. data is encoded as JSON, so that no text in it can
// look like its end.
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

// Pauses after a model gave no answer. They double, so that a model that is down for a night
// gets only some dozens of requests, however many jobs wait.
const (
	firstPause = 5 * time.Second
	lastPause  = 10 * time.Minute
)

// modelBackoff delays requests to a model that fails. The zero value allows requests.
type modelBackoff struct {
	mu    sync.Mutex // guards the rest
	until time.Time
	pause time.Duration

	refused      error // an error that a retry would repeat, such as a wrong key
	refusedUntil time.Time
}

// refusal returns the error that prevents requests to the model at this time, because a retry
// would fail in the same way. Nil means that a request is allowed.
func (g *modelBackoff) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused != nil && time.Now().Before(g.refusedUntil) {
		return g.refused
	}
	return nil
}

// waitUntilAllowed waits until the model may be asked, or ctx ends.
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

// recordOutcome records the result of a request.
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
	if throttled, ok := errors.AsType[*embed.Throttled](err); ok {
		wait = max(wait, throttled.After)
	}
	g.until = time.Now().Add(wait)
}

// sleep waits for d, or until ctx ends.
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

// Store is the store that a Classifier reads and writes; store.Engine implements it for one
// owner.
type Store interface {
	structure.Source
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	Transition(ctx context.Context, t ken.Transition) error
	Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error)
	// Get returns a claim by its id, or ErrNotFound.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// ByKey returns the claim with a key, or ErrNotFound.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Claim returns a record, or ErrNotFound if it was deleted.
	Claim(ctx context.Context, ref store.Ref) (ken.Claim, error)
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)

	// Events yields the log from a sequence number on, oldest first.
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	// Seq returns the number of the log's last event.
	Seq() uint64
	// Wait returns when the log has an event after seq, or ctx ends.
	Wait(ctx context.Context, seq uint64) error
	// Shelf returns the owner's storage for data that is not knowledge.
	Shelf() store.Shelf
}

// actor is recorded as the author of what this package writes.
var actor = ken.Actor{Type: "system", ID: "structure"}
