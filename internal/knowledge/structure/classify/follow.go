package classify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// Keys on the shelf.
const (
	keyRules  = "classify/rules"
	keyModel  = "classify/model"
	keyCounts = "classify/counts"
)

// Versions of the positions. After a change of version, the log is processed from the
// start.
const (
	rulesVersion = 1
	modelVersion = 1
)

// logPosition is the position of a reader in the log.
type logPosition struct {
	Version int    `json:"version"`
	Seq     uint64 `json:"seq"`
	Recent  uint64 `json:"recent,omitempty"` // first event after those that existed when the log was first read; 0 if unknown
	Forgot  uint64 `json:"forgot,omitempty"` // last event of a claim that was forgotten, after which the log was processed again
}

// eventsPerRead is how many events are read at a time.
const eventsPerRead = 64

// changedClaim is a claim that events in the log are about.
type changedClaim struct {
	id      string
	changed bool // changed in other ways than being written first or filed
	recent  bool // written after the reader first read the log
}

// logReader reads the log for one purpose and keeps its position.
type logReader struct {
	key     string
	version int
	handle  func(ctx context.Context, claims []changedClaim) ([]jobs.New, error)
	// again says that the log is processed again after a claim was forgotten. Dependencies
	// that had it as evidence were deleted with it, although other claims may state them
	// too.
	again bool

	at   *logPosition // nil if not read yet
	kept uint64       // the position on the shelf

	begun bool // at.Recent was set, but is not on the shelf yet
}

func (c *Classifier) walkers() (rules, model *logReader) {
	rules = &logReader{key: keyRules, version: rulesVersion, handle: c.applyRules, again: true}
	if c.o.Ask != nil { // forgetting one claim is no reason to ask the model about all again
		model = &logReader{key: keyModel, version: modelVersion, handle: c.jobsFor}
	}
	return rules, model
}

// CatchUp processes the log up to its end: the rules, and the jobs for a model if there is
// one.
func (c *Classifier) CatchUp(ctx context.Context) error {
	rules, model := c.walkers()
	for _, w := range []*logReader{rules, model} {
		if w == nil {
			continue
		}
		err := c.advance(ctx, w, func() error { return ctx.Err() })
		if err := errors.Join(err, c.flush(context.WithoutCancel(ctx), w, nil)); err != nil {
			return err
		}
	}
	return nil
}

// Follow does the same as CatchUp, and then processes everything that is written, until ctx
// ends. If the store fails, Follow logs the error and tries again. It returns nil when ctx
// ends.
func (c *Classifier) Follow(ctx context.Context) error {
	rules, model := c.walkers()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if model != nil {
			c.follow(ctx, model, true)
		}
	}()
	c.follow(ctx, rules, false)
	<-done
	return nil
}

func (c *Classifier) follow(ctx context.Context, w *logReader, settle bool) {
	defer func() {
		if err := c.flush(context.WithoutCancel(ctx), w, nil); err != nil {
			c.o.Log.Debug("the mark of what was filed is not kept", "cause", err) // the next start processes these events again
		}
	}()
	for ctx.Err() == nil {
		err := c.advance(ctx, w, func() error { return sleep(ctx, c.o.Rest) })
		if err != nil && ctx.Err() == nil {
			c.o.Log.WarnContext(ctx, "file what was written", "cause", err, "try", ken.Hint(err))
			_ = sleep(ctx, firstPause)
			continue
		}
		if w.at == nil || c.st.Wait(ctx, w.at.Seq) != nil {
			return
		}
		if settle && sleep(ctx, c.o.Settle) != nil {
			return
		}
	}
}

// advance processes the log up to its end. between is called between two pages.
func (c *Classifier) advance(ctx context.Context, w *logReader, between func() error) error {
	if w.at == nil {
		err := c.st.Shelf().View(ctx, func(r store.ShelfReader) error {
			m := readMark(r, w.key, w.version)
			w.at, w.kept = &m, m.Seq
			return nil
		})
		if err != nil {
			w.at = nil
			return fmt.Errorf("read the position of the filing: %w", err)
		}
	}
	if w.at.Recent == 0 && w.key == keyModel {
		w.at.Recent, w.begun = max(w.at.Seq, c.st.Seq())+1, true
	}
	again := uint64(0)
	for {
		claims, next, forgot, err := c.read(ctx, w.at.Seq+1, w.at.Recent)
		if err != nil {
			return err
		}
		if w.again && forgot > w.at.Forgot {
			again = forgot
		}
		if next == w.at.Seq {
			if again == 0 {
				return nil
			}
			w.at.Seq, w.at.Forgot, again = 0, again, 0
			continue
		}
		var add []jobs.New
		err = caught.Run(func() (err error) { add, err = w.handle(ctx, claims); return err })
		if err = c.skipPanicking(fmt.Sprintf("%d from event %d to %d", len(claims), w.at.Seq+1, next), err); err != nil {
			return err
		}
		w.at.Seq = next
		if len(add) > 0 || next-min(w.kept, next) >= eventsPerRead {
			if err := c.flush(ctx, w, add); err != nil {
				return err
			}
		}
		if next < c.st.Seq() {
			if err := between(); err != nil {
				return err
			}
		}
	}
}

// read reads one page of the log. It returns the claims in it, each once, and the last
// event.
func (c *Classifier) read(ctx context.Context, from, recent uint64) (claims []changedClaim, last, forgot uint64, err error) {
	last = from - 1
	n := 0
	for ev, err := range c.st.Events(ctx, from) {
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read the log: %w", err)
		}
		last = ev.Seq
		changed := false
		switch ev.Type {
		case ken.EventForgotten:
			forgot = ev.Seq
			continue
		case ken.EventArchived, ken.EventReinforced:
			continue
		case ken.EventWritten:
		case ken.EventAssigned:
			if p, err := ev.Decode(); err == nil && p.Assignment != nil && slices.Equal(p.Assignment.Entities, p.Assignment.Was.Entities) {
				continue // the text is unchanged; most such events are a model's own answers
			}
		default:
			changed = true
		}
		id := ev.Claim.String()
		if i := slices.IndexFunc(claims, func(t changedClaim) bool { return t.id == id }); i >= 0 {
			claims[i].changed = claims[i].changed || changed
		} else {
			claims = append(claims, changedClaim{id, changed, ev.Seq >= recent})
		}
		if n++; n == eventsPerRead {
			break
		}
	}
	return claims, last, forgot, nil
}

// concurrentClaims is how many claims the rules process concurrently. The store groups
// concurrent writes into one commit, and commits take most of the time.
const concurrentClaims = 16

// applyRules applies the rules to claims. The most trusted claims go first: a dependency
// has the trust of the first claim that states it, and others are added as evidence only if
// that does not lower its trust.
func (c *Classifier) applyRules(ctx context.Context, claims []changedClaim) ([]jobs.New, error) {
	rounds := map[ken.Trust][]changedClaim{}
	for _, t := range claims {
		k, err := c.st.Get(ctx, t.id)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return nil, fmt.Errorf("read a claim to be filed: %w", err)
		}
		trust := k.Support(nil).Trust
		rounds[trust] = append(rounds[trust], t)
	}
	for _, trust := range slices.Backward(slices.Sorted(maps.Keys(rounds))) {
		if err := c.deriveGroup(ctx, rounds[trust]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// deriveGroup derives from claims with equal trust.
func (c *Classifier) deriveGroup(ctx context.Context, claims []changedClaim) error {
	errs := make([]error, len(claims))
	room := make(chan struct{}, concurrentClaims)
	var all sync.WaitGroup
	for i, t := range claims {
		if err := ctx.Err(); err != nil {
			errs[i] = err
			break
		}
		room <- struct{}{}
		c.o.GiveWay(ctx)
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = c.skipPanicking(t.id, caught.Run(func() error { return c.derive(ctx, t.id, t.changed) }))
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// skipPanicking logs claims for which the rules panicked and treats them as done, since
// they would panic again. It returns any other error.
func (c *Classifier) skipPanicking(which string, err error) error {
	if !caught.Is(err) {
		return err
	}
	c.o.Log.Error("claims can't be filed and are left as they are", "claims", which, "cause", err, "stack", caught.Stack(err))
	return nil
}

// jobsFor returns the jobs for claims.
func (c *Classifier) jobsFor(ctx context.Context, claims []changedClaim) (out []jobs.New, err error) {
	var file []ken.Claim
	for _, t := range claims {
		k, err := c.st.Get(ctx, t.id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a claim to be filed: %w", err)
		}
		if t.recent && k.SourceType == harvested && k.Session != "" && (!t.changed || k.AssignedBy == ken.AssignedByModel) {
			continue // the end of its session asks about all its claims at once; a change is a note on an old value
		}
		if !Atomic(&k) || !isValid(&k, c.o.Now()) || !hasPrimary(&k) || !askable(&k) {
			continue
		}
		ask := isUnfiled(&k)
		if !ask {
			v := viewOf(c.st, k.Scope)
			own, err := v.resolve(ctx, analysis.Entities(k.Entities)[0])
			if err != nil {
				return nil, err
			}
			others, err := c.others(ctx, v, &k, slices.Concat(own...))
			if err != nil {
				return nil, err
			}
			ask = len(others) > 0
		}
		if ask {
			file = append(file, k)
		}
	}
	for _, b := range batches(file, c.o.Facts) {
		j, err := b.job(JobClassify)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// harvested is the source type of claims from the end of a session.
const harvested = "harvest"

// Begin records the current end of the log before a model is asked for the first time.
// Claims of later sessions are asked about at the session's end, earlier claims in the
// order of the log.
func (c *Classifier) Begin(ctx context.Context) error {
	if c.o.Ask == nil {
		return nil
	}
	begun := false
	err := c.st.Shelf().View(ctx, func(r store.ShelfReader) error {
		begun = len(r.Get(keyModel)) > 0
		return nil
	})
	if err != nil || begun {
		return err
	}
	m := logPosition{Version: modelVersion, Recent: c.st.Seq() + 1}
	return c.st.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		if len(tx.Get(keyModel)) > 0 {
			return nil
		}
		return putValue(tx, keyModel, m)
	})
}

// AddSession adds jobs that ask the model about the claims of a session, one job for each
// Options.Facts claims. It does nothing without a model.
func (c *Classifier) AddSession(ctx context.Context, ids []string) error {
	if c.o.Ask == nil || len(ids) == 0 {
		return nil
	}
	claims := make([]changedClaim, len(ids))
	for i, id := range ids {
		claims[i].id = id
	}
	add, err := c.jobsFor(ctx, claims)
	if err != nil {
		return err
	}
	return c.flush(ctx, nil, add)
}

// flush writes the position, the jobs that were found up to it, and the pending counts, in
// one transaction. w may be nil.
func (c *Classifier) flush(ctx context.Context, w *logReader, add []jobs.New) error {
	n := c.take()
	moved := w != nil && w.at != nil && (w.at.Seq != w.kept || w.begun)
	if !moved && len(add) == 0 && n.zero() {
		return nil
	}
	added := false
	err := c.st.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		added = false
		for _, j := range add {
			_, is, err := jobs.Add(tx, c.o.Now(), j)
			if err != nil {
				return err
			}
			added = added || is
		}
		if moved {
			if err := moveMark(tx, w); err != nil {
				return err
			}
		}
		if n.zero() {
			return nil
		}
		return addCounts(tx, &n)
	})
	if err != nil {
		c.giveBack(&n)
		return fmt.Errorf("write the position of the filing: %w", err)
	}
	if moved {
		w.kept, w.begun = w.at.Seq, false
	}
	if added {
		c.o.Wake()
	}
	return nil
}

// moveMark writes a position. It goes back only for a repeated run, since another process
// may have advanced it further.
func moveMark(tx store.ShelfTx, w *logReader) error {
	have := readMark(tx, w.key, w.version)
	if have.Seq > w.at.Seq && have.Forgot >= w.at.Forgot {
		return nil
	}
	m := *w.at
	m.Version = w.version
	return putValue(tx, w.key, m)
}

func putValue(tx store.ShelfTx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(key, b)
}

// readMark returns a position. It is the start of the log if there is none, if it has
// another version, or if it can't be parsed.
func readMark(r store.ShelfReader, key string, version int) (m logPosition) {
	if readValue(r, key, &m) != nil || m.Version != version {
		return logPosition{}
	}
	return m
}

func readValue(r store.ShelfReader, key string, to any) error {
	b := r.Get(key)
	if b == nil {
		return nil
	}
	if err := json.Unmarshal(b, to); err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "can't read " + key, Err: err}
	}
	return nil
}
