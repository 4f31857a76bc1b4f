package middleware

import (
	"context"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/retriever"
)

// learners are the owners' memories of what was of use, made on first use. The zero
// value is ready.
type learners struct {
	mu sync.Mutex // guards m
	m  map[string]*scorer.Learner
}

// Learner is what an owner's answers used, "" for the configured owner's, and the
// order learned from it.
func (l *Layer) Learner(owner string) *scorer.Learner {
	owner = l.owned(owner)
	l.learners.mu.Lock()
	defer l.learners.mu.Unlock()
	if have := l.learners.m[owner]; have != nil {
		return have
	}
	if l.learners.m == nil {
		l.learners.m = map[string]*scorer.Learner{}
	}
	made := scorer.NewLearner(tenant{l, owner}, scorer.Options{Mode: scorerMode(&l.cfg), Now: l.now, Log: l.o.Log})
	l.learners.m[owner] = made
	return made
}

func scorerMode(c *config.Config) scorer.Mode {
	switch c.Structure.Scorer {
	case config.ScorerOff:
		return scorer.ModeOff
	case config.ScorerOn:
		return scorer.ModeOn
	}
	return scorer.ModeAuto
}

// loadShare is how much of a turn's deadline it waits, once, for what was learned: a
// third, for the legs have theirs still before them. It is at hand where this process
// holds the folder.
const loadShare = 3

// learned adds to how a turn searches what was learned from use. It fails open.
func (l *Layer) learned(ctx context.Context, st *State, o *retriever.Options) {
	learner := l.Learner(st.Turn.Owner)
	ctx, cancel := context.WithTimeout(ctx, o.Deadline/loadShare)
	defer cancel()
	if err := learner.Load(ctx); err != nil {
		st.degrade("scorer", err)
		return
	}
	if o.Structure != nil {
		s := *o.Structure
		s.Utility = learner
		o.Structure = &s
	}
	guard := learner.InForce()
	logs := learner.Explores() && l.judges(&st.Turn)
	if st.trial != nil {
		guard, logs = learner.InForceAs(scorerMode(&st.trial.cfg)), false
	}
	if guard == nil && !logs {
		return
	}
	o.Learned = &retriever.Learned{Earlier: learner.Earlier}
	if guard != nil {
		o.Learned.Scorer = guard
	}
	if logs {
		o.Learned.Explore = scorer.Explorer{}.Explore
	}
}

// judges reports whether it will be known which items a turn's answer used: there is
// a session to hear it in, a receipt to keep it with, and a model that reads the block.
func (l *Layer) judges(t *ken.Turn) bool {
	return l.remembers(t) && l.keepsReceipt(t) && l.cfg.Middleware.Inject
}
