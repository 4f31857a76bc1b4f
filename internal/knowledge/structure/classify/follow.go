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
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// What is on the shelf.
const (
	keyRules  = "classify/rules"
	keyModel  = "classify/model"
	keyCounts = "classify/counts"
)

// Versions of what a mark is of. With another one, the log is gone through again from
// its beginning.
const (
	rulesVersion = 1
	modelVersion = 1
)

// logPosition is how far a reader of the log has come.
type logPosition struct {
	Version int    `json:"version"`
	Seq     uint64 `json:"seq"`
	Recent  uint64 `json:"recent,omitempty"` // the first event after those that were there when the log was read first; 0 is unknown
	Forgot  uint64 `json:"forgot,omitempty"` // the last event of a claim that was forgotten, after which all was looked at again
}

// eventsPerRead is how many events are looked at in one go.
const eventsPerRead = 64

// changedClaim is a claim that events were about.
type changedClaim struct {
	id      string
	changed bool // by more than being written for the first time, or filed
	recent  bool // written since the reader of the log began
}

// logReader reads the log for one purpose, and keeps its position.
type logReader struct {
	key     string
	version int
	handle  func(ctx context.Context, claims []changedClaim) ([]jobs.New, error)
	// again has all looked at once more after a claim was forgotten: what rested on it
	// is gone with it, and may have rested on others as well.
	again bool

	at   *logPosition // nil: not read yet
	kept uint64       // the mark that is on the shelf

	begun bool // at.Recent was set, and is not on the shelf yet
}

func (c *Classifier) walkers() (rules, model *logReader) {
	rules = &logReader{key: keyRules, version: rulesVersion, handle: c.applyRules, again: true}
	if c.o.Ask != nil { // a model is not asked about everything because one claim was forgotten
		model = &logReader{key: keyModel, version: modelVersion, handle: c.jobsFor}
	}
	return rules, model
}

// CatchUp does what is to be done about everything that is in the log: the rules, and
// the jobs for a model where there is one. It returns when the log's end is reached.
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

// Follow does what CatchUp does, and then about everything that is written, until
// ctx ends. A store that fails is told, and tried again. It returns nil then.
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
			c.o.Log.Debug("the mark of what was filed is not kept", "cause", err) // the next start looks at it again
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

// advance goes to the end of the log. between is called between two pages.
func (c *Classifier) advance(ctx context.Context, w *logReader, between func() error) error {
	if w.at == nil {
		err := c.st.Shelf().View(ctx, func(r store.ShelfReader) error {
			m := readMark(r, w.key, w.version)
			w.at, w.kept = &m, m.Seq
			return nil
		})
		if err != nil {
			w.at = nil
			return fmt.Errorf("read how far the filing is: %w", err)
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

// read reads one page of the log: the claims that it is about, each once, and where
// it ends.
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
				continue // it is about what it was about: most are a model's own answers
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

// concurrentClaims is how many claims the rules work on at once: the store commits together
// what comes together, and a commit is what takes the time.
const concurrentClaims = 16

// applyRules is what the rules do about claims. The most trusted go first: a dependency is
// as trusted as who states it first, and others back it only where that costs no trust.
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

// deriveGroup derives from claims that are trusted alike.
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

// skipPanicking tells of claims that made the reader panic, which would do so again, and takes
// them for done; any other error stays.
func (c *Classifier) skipPanicking(which string, err error) error {
	if !caught.Is(err) {
		return err
	}
	c.o.Log.Error("claims can't be filed and are left as they are", "claims", which, "cause", err, "stack", caught.Stack(err))
	return nil
}

// jobsFor is which jobs claims need.
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
		if t.recent && !t.changed && k.SourceType == harvested && k.Session != "" {
			continue // its session's end asks about all that it taught, at once
		}
		if !Atomic(&k) || !stands(&k, c.o.Now()) || !named(&k) || !askable(&k) {
			continue
		}
		ask := unfiled(&k)
		if !ask {
			v := viewOf(c.st, k.Scope)
			own, err := v.resolve(ctx, spelled(k.Entities)[0])
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

// harvested is the source type of what the end of a session left.
const harvested = "harvest"

// Begin notes what is in the log before a model is asked for the first time: what sessions
// leave from then on is asked about at their end, and what was there before as it comes.
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
		return putMark(tx, keyModel, m)
	})
}

// AddSession adds the jobs that ask the model about the claims that a session left: one for
// each Options.Facts of them. It does nothing without a model.
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

// flush keeps what is pending: the mark, the jobs that were found up to it, and the
// counts, in one transaction. w may be nil.
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
		return fmt.Errorf("keep how far the filing is: %w", err)
	}
	if moved {
		w.kept, w.begun = w.at.Seq, false
	}
	if added {
		c.o.Wake()
	}
	return nil
}

// moveMark moves a mark on, never back unless that is meant: another process may have
// been faster.
func moveMark(tx store.ShelfTx, w *logReader) error {
	have := readMark(tx, w.key, w.version)
	if have.Seq > w.at.Seq && have.Forgot >= w.at.Forgot {
		return nil
	}
	m := *w.at
	m.Version = w.version
	return putMark(tx, w.key, m)
}

func putMark(tx store.ShelfTx, key string, m logPosition) error {
	b, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	return tx.Put(key, b)
}

// readMark reads a mark: the log's beginning where there is none, one of another
// version, or one that can't be read.
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
