package middleware

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/store"
)

// auxiliaryModel returns the client of the model that harvests an owner's sessions and files
// its claims; nil where rules do it alone.
func (l *Layer) auxiliaryModel(t ownerStore) *model.Client {
	c := &l.cfg
	o := model.Options{BaseURL: c.HarvestBaseURL(), APIKey: c.HarvestAPIKey(), Model: c.HarvestModel(), Command: c.HarvestCommand(),
		Timeout: c.Harvest.Timeout, Window: c.Harvest.Window, MaxFacts: c.Harvest.MaxFacts, FactChars: c.Harvest.FactChars,
		Budget: &model.Budget{Shelf: t, Most: c.Harvest.Tokens, Now: l.now}, Log: l.o.Log}
	if o.MaxFacts == 0 {
		o.MaxFacts = -1 // 0 means none in the configuration, and the default to the model
	}
	switch {
	case o.Model != "" || len(o.Command) > 0:
	case c.HarvestSampling():
		o.Sample = func(ctx context.Context, system, user string, most int) (text, model string, err error) {
			return l.samplers.ask(ctx, t.owner, system, user, most)
		}
	default:
		return nil
	}
	return model.New(o)
}

// newHarvester returns an owner's harvester as configured.
func (l *Layer) newHarvester(t ownerStore, d *ownerSessions) *harvest.Harvester {
	c := &l.cfg
	o := harvest.Options{Store: auditedStore{t}, Journal: d.journal, NoFacts: !c.Knowledge.Facts, Tools: l.tools, Ingest: c.Middleware.Ingest,
		IngestChars: c.Harvest.IngestChars, Rules: extract.Options{FactChars: c.Harvest.FactChars}, Log: l.o.Log}
	o.Tainted = d.receipts.Marks
	if d.model != nil {
		o.Model = d.model
	}
	o.OnHarvested = func(ctx context.Context, info session.Info, out *session.Outcome) error {
		err := l.adviseModel(ctx, t, d, out)
		if d.model != nil && c.ClassifyModel() && l.filesClaims() && info.Messages > 1 { // as the model is not asked to extract from one message
			err = errors.Join(err, t.use(ctx, func(s store.Engine) error {
				return l.classifier(s, d).AddSession(ctx, slices.Concat(out.Learned, out.Reinforced))
			}))
		}
		if t.owner == c.Knowledge.Owner && len(out.Patterns) > 0 { // MEMORY.md lists patterns only
			_, synced := l.Operator().SyncMemory(ctx, "")
			err = errors.Join(err, synced)
		}
		return err
	}
	return harvest.New(o)
}

// adviceKey is the shelf's key that says that the owner was told what a model would do.
const adviceKey = "harvest/advised"

// adviseModel says once, with an owner's first harvest, what is missed without a model.
func (l *Layer) adviseModel(ctx context.Context, t ownerStore, d *ownerSessions, out *session.Outcome) error {
	if d.model != nil || l.cfg.Harvest.Model == config.HarvestOff {
		return nil
	}
	told := false
	err := t.View(ctx, func(r store.ShelfReader) error {
		told = len(r.Get(adviceKey)) > 0
		return nil
	})
	if err != nil || told {
		return err
	}
	if err := t.Update(ctx, func(tx store.ShelfTx) error { return tx.Put(adviceKey, []byte("1")) }); err != nil {
		return err
	}
	if out.Note != "" {
		out.Note += "; "
	}
	out.Note += model.Without + ": ken doctor says how to use one"
	return nil
}

// SyncMemory reads what people changed in MEMORY.md and writes the file again. by is the person
// who edited it; "" if unknown. Only the configured owner has the file.
func (l operator) SyncMemory(ctx context.Context, by string) (memoryfile.Report, error) {
	path := filepath.Join(l.o.Root, memoryfile.Dir, memoryfile.Name)
	if info, err := os.Lstat(path); !trust.Inside(trust.Real(l.o.Root), trust.Real(path)) || err == nil && !info.Mode().IsRegular() {
		return memoryfile.Report{}, &ken.Error{Code: ken.CodeRefused, Field: memoryfile.Name, Msg: "is no plain file of the project", Try: "Take the link out of the way."}
	}
	t := ownerStore{l.Layer, l.cfg.Knowledge.Owner}
	own, err := l.userLines(ctx, t, path)
	if err != nil {
		return memoryfile.Report{}, err
	}
	r, err := memoryfile.Sync(ctx, t, memoryfile.Options{Write: true, Now: l.now, Path: path, By: cmp.Or(by, memoryfile.Name), Own: own})
	if err != nil {
		return r, err
	}
	return r, l.recordMemoryVersion(ctx, t, path)
}

// memoryVersionKey is the shelf's key for the hash of the last version of MEMORY.md that Ken
// read or wrote in this project.
const memoryVersionKey = "memory/known"

// userLines returns a function that recognizes the user's own lines of MEMORY.md, as opposed to
// lines that others may have committed. A line is the user's if Ken knew the file and git has
// the line nowhere. If that can't be found out, no line is.
func (l *Layer) userLines(ctx context.Context, t ownerStore, path string) (func(string) bool, error) {
	known := false
	err := t.View(ctx, func(r store.ShelfReader) error {
		known = len(r.Get(memoryVersionKey)) > 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	none := func(string) bool { return false }
	if !known {
		return none, nil
	}
	versions, ok := trust.Committed(ctx, l.o.Root, path)
	if !ok {
		return none, nil
	}
	committed := map[string]bool{}
	for _, v := range versions {
		for line := range strings.Lines(string(v)) {
			committed[strings.TrimRight(line, " \t\r\n")] = true
		}
	}
	return func(line string) bool { return !committed[line] }, nil
}

// recordMemoryVersion stores the hash of MEMORY.md as it is now.
func (l *Layer) recordMemoryVersion(ctx context.Context, t ownerStore, path string) error {
	b, err := memoryfile.Read(path)
	if err != nil {
		return fmt.Errorf("record the version of %s: %w", memoryfile.Name, err)
	}
	sum := []byte(projectfile.Hash(b))
	var have []byte
	err = t.View(ctx, func(r store.ShelfReader) error {
		have = bytes.Clone(r.Get(memoryVersionKey))
		return nil
	})
	if err != nil || bytes.Equal(have, sum) {
		return err
	}
	return t.Update(ctx, func(tx store.ShelfTx) error { return tx.Put(memoryVersionKey, sum) })
}

// lifecyclePolicy returns how long things are kept. A file that can't be read is logged, and
// the defaults hold until it is repaired.
func (l *Layer) lifecyclePolicy() lifecycle.Policy {
	p, err := lifecycle.Load(filepath.Join(l.o.Root, memoryfile.Dir, lifecycle.FileName))
	if err != nil {
		l.o.Log.Warn("read the lifecycle policy", "cause", err, "try", ken.Hint(err))
		p = lifecycle.Default()
	}
	return p.Decay(l.cfg.Knowledge.DecayDays)
}

// rejection returns a refused write as the attention queue keeps it, without its text.
func rejection(a session.Action, err error) attention.Rejection {
	return attention.Rejection{Session: a.SessionID, Branch: a.BranchID, Actor: ken.Actor{Type: a.ActorType, ID: a.ActorID}, Why: err.Error()}
}

// statements learns what users state as soon as their messages are journaled, so that the next
// conversation knows it. The zero value learns nothing.
type statements struct {
	waiting chan newMessages // nil if it is switched off
}

// newMessages are the messages of a session from a number on, of which some are the user's.
type newMessages struct {
	owner, session string
	from           uint64
}

// maxStatements bounds the messages that wait to be learned. The harvest learns the rest.
const maxStatements = 1024

// statementWindow is the number of messages that are read together, so that a statement may
// refer to an earlier one.
const statementWindow = 12

// openStatements prepares to learn what users state.
func (l *Layer) openStatements() {
	if l.cfg.Middleware.Knowledge && l.cfg.Middleware.Harvest && l.cfg.Harvest.AtOnce {
		l.statements.waiting = make(chan newMessages, maxStatements)
	}
}

// notify notes that a session's journal has new messages. It never waits.
func (s *statements) notify(owner, id string, entries []session.Entry) {
	if s.waiting == nil || !slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Message.Role == "user" }) {
		return
	}
	select {
	case s.waiting <- newMessages{owner, id, entries[0].Seq}:
	default:
	}
}

// runStatements learns what users state until ctx ends.
func (l *Layer) runStatements(ctx context.Context) {
	for {
		select {
		case st := <-l.statements.waiting:
			if err := caught.Run(func() error { return l.learnStatement(ctx, st) }); err != nil && ctx.Err() == nil {
				l.o.Log.Debug("learn what a user stated; the harvest will", "session", st.session, "cause", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// learnStatements learns what users stated and is not learned yet.
func (l *Layer) learnStatements() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeHarvestLimit)
	defer cancel()
	for {
		select {
		case st := <-l.statements.waiting:
			if err := caught.Run(func() error { return l.learnStatement(ctx, st) }); err != nil {
				return fmt.Errorf("learn what the user stated: %w", err)
			}
		default:
			return nil
		}
	}
}

// learnStatement learns from the newest messages of a session.
func (l *Layer) learnStatement(ctx context.Context, st newMessages) error {
	j := l.Operator().Journal(st.owner)
	tr, err := j.Tail(ctx, st.session, statementWindow)
	if err != nil || tr.Info.State != session.Open { // an ended session is the harvest's
		return err
	}
	quotes, err := l.sessionsOf(st.owner).harvester.HarvestStatements(ctx, &tr, st.from)
	if len(quotes) > 0 {
		err = l.withdrawForgotten(ctx, st, &tr, quotes)
	}
	return err
}

// withdrawForgotten forgets what was just learned from messages that have left the journal
// since. Another process erased what they said, and may have looked for such claims before
// these were written.
func (l *Layer) withdrawForgotten(ctx context.Context, st newMessages, read *session.Transcript, quotes map[string]string) error {
	now, err := l.Operator().Journal(st.owner).Tail(ctx, st.session, 2*statementWindow)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	gone := func(quote string) bool {
		for i := range read.Entries {
			e := &read.Entries[i]
			if e.Seq >= st.from && strings.Contains(e.Message.Text, quote) &&
				slices.ContainsFunc(now.Entries, func(n session.Entry) bool { return n.Seq == e.Seq }) {
				return false
			}
		}
		return true
	}
	for id, quote := range quotes {
		if !gone(quote) {
			continue
		}
		if _, err := l.Forget(ctx, st.owner, id, "what it rests on was forgotten", ken.Actor{Type: "system", ID: "harvest"}); err != nil && !errors.Is(err, ken.ErrNotFound) {
			return err
		}
	}
	return nil
}

// saidInConversation reports whether a claim rests on messages alone and the conversation holds
// the words that it was learned from. Then the block need not repeat it. A claim that a person
// or a test confirmed is new even to the conversation that said it.
func saidInConversation(t *ken.Turn, c *ken.Claim) bool {
	here := false
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Kind != ken.EvidenceMessage {
			return false
		}
		if e.SessionID != t.Session {
			continue
		}
		here = e.Detail != "" && slices.ContainsFunc(t.Messages, func(m ken.Message) bool { return m.Role == "user" && strings.Contains(m.Text, e.Detail) })
		if !here {
			return false
		}
	}
	return here
}

// samplers are the connected clients whose models may be asked, by owner. The zero value is
// ready.
type samplers struct {
	mu      sync.Mutex // guards byOwner
	byOwner map[string][]*model.Sampler
}

// errNoSampler is why a session is harvested by rules.
var errNoSampler = &ken.Error{Code: ken.CodeUnavailable, Field: "harvest.sampling", Msg: "no MCP client that offers sampling is connected",
	Try: "Use a client that offers it, or set harvest.model or harvest.command."}

// AddSampler has sessions of an owner harvested by the model of a client, where harvest.sampling
// is on and no other model is configured, until remove is called. "" is the configured owner.
func (l operator) AddSampler(owner string, s model.Sampler) (remove func()) {
	owner = l.ownerOrDefault(owner)
	p := &s
	all := &l.samplers
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byOwner == nil {
		all.byOwner = map[string][]*model.Sampler{}
	}
	all.byOwner[owner] = append(all.byOwner[owner], p)
	return sync.OnceFunc(func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.byOwner[owner] = slices.DeleteFunc(all.byOwner[owner], func(o *model.Sampler) bool { return o == p })
	})
}

// ask asks the client of an owner that connected last.
func (a *samplers) ask(ctx context.Context, owner, system, user string, most int) (text, model string, err error) {
	a.mu.Lock()
	list := slices.Clone(a.byOwner[owner])
	a.mu.Unlock()
	if len(list) == 0 {
		return "", "", errNoSampler
	}
	return (*list[len(list)-1])(ctx, system, user, most)
}
