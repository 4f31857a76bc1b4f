package middleware

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/sharedview"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// ownerStore is an owner's store for long-lived users. It gets the store from the layer at each
// call, because the layer closes stores that are not in use. It implements ken.Store and
// store.Shelf.
type ownerStore struct {
	l     *Layer
	owner string
}

var (
	_ ken.Store   = ownerStore{}
	_ store.Shelf = ownerStore{}
)

// use opens the store, runs fn on it, and releases it.
func (t ownerStore) use(ctx context.Context, fn func(store.Engine) error) error {
	if t.l.storeErr != nil {
		return t.l.storeErr
	}
	t.l.yieldToTurns(ctx)
	s, release, err := t.l.Store(ctx, t.owner)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// WriteClaim implements ken.Store.
func (t ownerStore) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) {
		if id, err = s.WriteClaim(ctx, c); err == nil {
			t.l.deriveInForeground(ctx, s, id)
		}
		return err
	})
	return id, err
}

// Query implements ken.Store.
func (t ownerStore) Query(ctx context.Context, q ken.Query) (out []ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { out, err = s.Query(ctx, q); return err })
	return out, err
}

// Transition implements ken.Store.
func (t ownerStore) Transition(ctx context.Context, tr ken.Transition) error {
	return t.use(ctx, func(s store.Engine) error { return s.Transition(ctx, tr) })
}

// Supersede implements ken.Store.
func (t ownerStore) Supersede(ctx context.Context, oldID, newID string) error {
	return t.use(ctx, func(s store.Engine) error { return s.Supersede(ctx, oldID, newID) })
}

// SupersedeFor calls the store's method.
func (t ownerStore) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return t.use(ctx, func(s store.Engine) error { return s.SupersedeFor(ctx, oldID, newID, reason, actor) })
}

// History implements ken.Store.
func (t ownerStore) History(ctx context.Context, id string) (out []ken.ClaimEvent, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { out, err = s.History(ctx, id); return err })
	return out, err
}

// Reinforce calls the store's method.
func (t ownerStore) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return t.use(ctx, func(s store.Engine) error { return s.Reinforce(ctx, id, evidence, actor) })
}

// Get calls the store's method.
func (t ownerStore) Get(ctx context.Context, id string) (c ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { c, err = s.Get(ctx, id); return err })
	return c, err
}

// ByKey calls the store's method.
func (t ownerStore) ByKey(ctx context.Context, key string) (c ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { c, err = s.ByKey(ctx, key); return err })
	return c, err
}

// View implements store.Shelf.
func (t ownerStore) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return t.use(ctx, func(s store.Engine) error { return s.Shelf().View(ctx, fn) })
}

// Update implements store.Shelf.
func (t ownerStore) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return t.use(ctx, func(s store.Engine) error { return s.Shelf().Update(ctx, fn) })
}

// read returns a value of the shelf; nil if it has none.
func (t ownerStore) read(ctx context.Context, key string) (v []byte, err error) {
	err = t.View(ctx, func(r store.ShelfReader) error {
		v = bytes.Clone(r.Get(key))
		return nil
	})
	return v, err
}

// sharingOwners returns the other owners whose shared knowledge an owner reads, each once.
func (l *Layer) sharingOwners(owner string) (out []string) {
	owner = l.ownerOrDefault(owner)
	for _, o := range l.cfg.Knowledge.Shares {
		if o != owner && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// readsProject reports whether an owner's turns may read the project's code and decisions. The
// owner of the files may. All others may once that owner shares its knowledge.
func (l *Layer) readsProject(owner string) bool {
	return l.ownsProject(owner) || slices.Contains(l.cfg.Knowledge.Shares, l.cfg.Knowledge.Owner)
}

// share is another owner's shared knowledge, open for reading until release is called.
type share struct {
	owner   string
	engine  store.Engine
	view    *sharedview.View
	release func()

	found retriever.Result
	err   error // why the search found nothing
}

// openShare opens the store of an owner who shares knowledge.
func (l *Layer) openShare(ctx context.Context, owner string) (*share, error) {
	e, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	return &share{owner: owner, engine: e, view: sharedview.New(e, l.now().UTC()), release: release}, nil
}

// shareOf returns the open share of an owner; nil if there is none.
func (st *State) shareOf(owner string) *share {
	i := slices.IndexFunc(st.shares, func(s *share) bool { return s.owner == owner })
	if i < 0 {
		return nil
	}
	return st.shares[i]
}

func (st *State) projectionsOf(c *retriever.Candidate) store.Projections {
	if s := st.shareOf(c.Owner); s != nil {
		return s.view
	}
	return st.proj
}

func (st *State) release() {
	for _, s := range st.shares {
		s.release()
	}
	st.shares = nil
}

// shareSearch is a search of shared stores that runs beside a turn's own search.
type shareSearch struct {
	owners  []string
	answers chan *share
	start   time.Time
	wait    time.Duration
}

// searchShares starts searches in the stores of owners who share knowledge, in parallel to the
// turn's own search. The turn's session does not influence them, and they return only claims above
// the floor.
func (l *Layer) searchShares(ctx context.Context, st *State, t retriever.Turn) (a shareSearch) {
	a.owners = l.sharingOwners(st.Turn.Owner)
	if len(a.owners) == 0 || !t.Signals.Asks && !t.Signals.Resumes {
		a.owners = nil
		return a
	}
	a.answers, a.start = make(chan *share, len(a.owners)), time.Now()
	settings := l.settings(st)
	t.Session, t.Late, t.Began, t.Opens, t.OnRules = "", nil, time.Time{}, false, nil
	for _, owner := range a.owners {
		a.wait = settings.Retrieval.Deadline
		go func() {
			s := &share{owner: owner, release: func() {}}
			s.err = caught.Run(func() error {
				open, err := l.openShare(ctx, owner)
				if err != nil {
					return err
				}
				s = open
				retrieval, cause := l.retrieval, l.vectorCause
				if st.dryRun != nil {
					retrieval, cause = st.dryRun.retrieval, st.dryRun.vectorCause
				}
				ask := l.questionFor(s.view, cause, settings.Retrieval.Deadline)
				o, noVector := applyCalibration(l.questionCalibration(owner, &ask), retrieval, settings.Middleware.Keyword, cause)
				ask.disable(noVector)
				o.Sources = l.legs(settings, s.view, &t.Signals, ask.embedder)
				s.found = retriever.New(s.view, o).Retrieve(ctx, t)
				return nil
			})
			a.answers <- s
		}()
	}
	return a
}

// mergeShares adds the results from other owners to the turn's, until the retrieval deadline.
// Results that arrive later are left out, and the receipt says so.
func (l *Layer) mergeShares(ctx context.Context, st *State, a shareSearch, topK int) {
	if len(a.owners) == 0 {
		return
	}
	timer := time.NewTimer(max(0, a.wait-time.Since(a.start)))
	defer timer.Stop()
	got := map[string]*share{}
	for late := false; len(got) < len(a.owners); {
		select {
		case s := <-a.answers:
			got[s.owner] = s
			continue
		default:
		}
		if late {
			break
		}
		select {
		case s := <-a.answers:
			got[s.owner] = s
		case <-timer.C:
			late = true
		case <-ctx.Done():
			late = true
		}
	}
	if missing := len(a.owners) - len(got); missing > 0 {
		go func() {
			for range missing {
				(<-a.answers).release()
			}
		}()
	}
	for _, owner := range a.owners {
		s := got[owner]
		switch {
		case s == nil:
			st.degrade(owner, fmt.Errorf("its shared knowledge did not arrive within %s", a.wait))
			continue
		case s.err != nil:
			s.release()
			st.degrade(owner, s.err)
			continue
		}
		st.shares = append(st.shares, s)
		st.Found.Merge(owner, &s.found, cmp.Or(topK, l.settings(st).Knowledge.TopK))
	}
	st.Receipt.MS["shares"] = ms(time.Since(a.start))
}

// prefetch reads the claims that the block is likely to contain.
func (st *State) prefetch(ctx context.Context) {
	of := func(owner string) (list []retriever.Candidate) {
		for i := range st.Found.Candidates {
			if st.Found.Candidates[i].Owner == owner {
				list = append(list, st.Found.Candidates[i])
			}
		}
		return list
	}
	if len(st.shares) == 0 {
		store.Fetch(ctx, st.proj, likelyRefs(st.Found.Candidates))
		return
	}
	store.Fetch(ctx, st.proj, likelyRefs(of("")))
	for _, s := range st.shares {
		store.Fetch(ctx, s.view, likelyRefs(of(s.owner)))
	}
}

// withOwnerSource returns a claim whose Source names the owner who shares it; "" means the turn's
// owner. The Source of a piece of a file stays the file.
func withOwnerSource(owner string, c ken.Claim) ken.Claim {
	if owner == "" || c.Kind == ken.KindDocument {
		return c
	}
	c.Source = strings.Join(slices.DeleteFunc([]string{owner, cmp.Or(c.Source, c.SourceType)}, func(s string) bool { return s == "" }), ": ")
	return c
}

// Shared returns a claim that another owner shares with owner, for reading only; "" means the
// configured owner. The claim's Owner is the one who shares it. Shared returns ErrNotFound also for
// claims that exist but are not shared. If it finds the claim nowhere, and one of the stores did not
// answer, it returns ErrUnavailable.
func (l operator) Shared(ctx context.Context, owner, id string) (ken.Claim, error) {
	absent := errNotShared()
	for _, o := range l.sharingOwners(owner) {
		c, err := l.sharedBy(ctx, o, id)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return c, err
		case !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrInvalid):
			absent = &ken.Error{Code: ken.CodeUnavailable, Field: "id", Msg: "a store that may have it does not answer", Try: "Try again later; ken doctor says more.", Err: err}
		}
	}
	return ken.Claim{}, absent
}

func errNotShared() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no such claim"}
}

func (l *Layer) sharedBy(ctx context.Context, owner, id string) (ken.Claim, error) {
	s, err := l.openShare(ctx, owner)
	if err != nil {
		return ken.Claim{}, err
	}
	defer s.release()
	c, err := s.view.Get(ctx, id)
	return withOwnerSource(owner, c), err
}

// claimOfItem returns the claim of an item in an owner's block: a claim of that owner, or one that
// another owner still shares.
func (l *Layer) claimOfItem(ctx context.Context, s store.Engine, it *ken.Item) (ken.Claim, error) {
	switch {
	case it.Owner == "":
		return s.Get(ctx, it.ID)
	case !slices.Contains(l.sharingOwners(s.Owner()), it.Owner):
		return ken.Claim{}, errNotShared()
	}
	return l.sharedBy(ctx, it.Owner, it.ID)
}

// forgetShared deletes an owner's forgotten claims from what other owners keep about turns that
// used them: journals, receipts and the blocks of running conversations. It does not delete what
// other owners know or said themselves.
func (l *Layer) forgetShared(ctx context.Context, owner string, ids []string, text func(string) bool) error {
	if !slices.Contains(l.cfg.Knowledge.Shares, owner) {
		return nil
	}
	l.blocks.drop(func(c *turnDecision) bool {
		return slices.ContainsFunc(c.shared[owner], func(id string) bool { return slices.Contains(ids, id) })
	})
	readers, err := l.owners.List(ctx) // those whose copy is on another node alone as well
	errs := []error{err}
	for _, reader := range readers {
		if reader == owner {
			continue
		}
		errs = append(errs, l.forgetSharedFor(ctx, reader, ids, text))
	}
	return errors.Join(errs...)
}

func (l *Layer) forgetSharedFor(ctx context.Context, reader string, ids []string, text func(string) bool) error {
	s, release, err := l.Store(ctx, reader)
	if err != nil {
		return err
	}
	defer release()
	d := l.sessionsOf(reader)
	t := session.Traces{Claims: ids, Text: text, Message: func(string, *session.Entry) bool { return false }}
	held, err := d.journal.Holds(ctx, t)
	if err != nil {
		return err
	}
	changed, err := d.receipts.Forget(ctx, receipt.Traces{Claims: ids})
	if err != nil {
		return err
	}
	if len(held.Injected)+len(held.Checkpoint)+changed == 0 {
		return nil
	}
	l.recoveries.Drop(func(c conversationStart) bool { return c.owner == reader })
	l.judgements.dropOwner(reader)
	if _, err := d.journal.Expunge(ctx, t); err != nil {
		return err
	}
	return s.Compact(ctx)
}

// Owners lists all owners that have a store, in the folder of knowledge.db_path or in the engine of
// store.url.
func (l operator) Owners(ctx context.Context) ([]string, error) {
	if l.engineErr != nil {
		return nil, l.engineErr
	}
	return l.owners.List(ctx)
}

// Opened returns the owners whose stores are open in this process.
func (l operator) Opened() []string { return l.owners.Opened() }

// CopyStore copies the current state of an owner's store into dir. The store may be in use.
func (l operator) CopyStore(ctx context.Context, owner, dir string) error {
	if l.engineErr != nil {
		return l.engineErr
	}
	return l.owners.CopyTo(ctx, owner, dir)
}
