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
	"time"

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

// auxiliaryModel returns the client of the model that harvests an owner's sessions and files its
// claims. It returns nil if only rules do that.
func (l *Layer) auxiliaryModel(t ownerStore) *model.Client {
	c := &l.cfg
	o := model.Options{BaseURL: c.HarvestBaseURL(), APIKey: c.HarvestAPIKey(), Model: c.HarvestModel(), Command: c.HarvestCommand(),
		Timeout: c.Harvest.Timeout, Window: c.Harvest.Window, MaxFacts: c.Harvest.MaxFacts, FactChars: c.Harvest.FactChars,
		Budget: &model.Budget{Shelf: t, Most: c.Harvest.Tokens, Now: l.now}, Log: l.o.Log}
	o.MaxFacts = cmp.Or(o.MaxFacts, -1) // 0 in the configuration means none; in the options it means the default
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

// newHarvester returns an owner's harvester, set up from the configuration.
func (l *Layer) newHarvester(t ownerStore, d *ownerSessions) *harvest.Harvester {
	c := &l.cfg
	o := harvest.Options{Store: auditedStore{t}, Journal: d.journal, NoFacts: !c.Knowledge.Facts, Tools: l.tools, Ingest: c.Middleware.Ingest,
		IngestChars: c.Harvest.IngestChars, Rules: extract.Options{FactChars: c.Harvest.FactChars}, Log: l.o.Log}
	o.Tainted = d.receipts.Marks
	o.AskToForget = func(ctx context.Context, claim, request, session string, at time.Time) error {
		_, err := attention.PutMark(ctx, t, attention.Mark{Event: attention.ForgetRequested, Claim: claim, Reason: request, Session: session, Actor: ken.Actor{Type: "user"}, At: at})
		return err
	}
	if d.model != nil {
		o.Model = d.model
	}
	o.OnHarvested = func(ctx context.Context, info session.Info, out *session.Outcome) error {
		err := l.adviseModel(ctx, t, d, out)
		if d.model != nil && c.ClassifyModel() && l.filesClaims() && info.Messages > 1 { // a session of one message is not sent to the model
			err = errors.Join(err, t.use(ctx, func(s store.Engine) error {
				return l.classifier(s, d).AddSession(ctx, slices.Concat(out.Learned, out.Reinforced))
			}))
		}
		if t.owner == c.Knowledge.Owner && len(out.Patterns) > 0 { // MEMORY.md lists only patterns
			_, synced := l.Operator().SyncMemory(ctx, "")
			err = errors.Join(err, synced)
		}
		return err
	}
	return harvest.New(o)
}

// adviceKey is the shelf key which records that the owner got the advice of adviseModel.
const adviceKey = "harvest/advised"

// adviseModel adds a note to the outcome of an owner's first harvest that says what a model would
// add.
func (l *Layer) adviseModel(ctx context.Context, t ownerStore, d *ownerSessions, out *session.Outcome) error {
	if d.model != nil || l.cfg.Harvest.Model == config.HarvestOff {
		return nil
	}
	if advised, err := t.read(ctx, adviceKey); err != nil || len(advised) > 0 {
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

// SyncMemory reads changes that people made in MEMORY.md, and writes the file again. by is the
// person who edited it; "" if unknown. Only the configured owner has the file.
func (l operator) SyncMemory(ctx context.Context, by string) (memoryfile.Report, error) {
	path := filepath.Join(l.o.Root, memoryfile.Dir, memoryfile.Name)
	if info, err := os.Lstat(path); !trust.Inside(trust.Real(l.o.Root), trust.Real(path)) || err == nil && !info.Mode().IsRegular() {
		return memoryfile.Report{}, &ken.Error{Code: ken.CodeRefused, Field: memoryfile.Name, Msg: "is not a regular file of the project", Try: "Remove the link."}
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

// memoryVersionKey is the shelf key of the hash of the last version of MEMORY.md that Ken read or
// wrote in this project.
const memoryVersionKey = "memory/known"

// userLines returns a function that reports whether a line of MEMORY.md was written by this user.
// Other lines may have been committed by others. A line is the user's if Ken has read or written
// the file before and no git commit has the line. If that can't be determined, the function returns
// false.
func (l *Layer) userLines(ctx context.Context, t ownerStore, path string) (func(string) bool, error) {
	known, err := t.read(ctx, memoryVersionKey)
	if err != nil {
		return nil, err
	}
	none := func(string) bool { return false }
	if len(known) == 0 {
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

// recordMemoryVersion stores the hash of the current MEMORY.md.
func (l *Layer) recordMemoryVersion(ctx context.Context, t ownerStore, path string) error {
	b, err := memoryfile.Read(path)
	if err != nil {
		return fmt.Errorf("record the version of %s: %w", memoryfile.Name, err)
	}
	sum := []byte(projectfile.Hash(b))
	have, err := t.read(ctx, memoryVersionKey)
	if err != nil || bytes.Equal(have, sum) {
		return err
	}
	return t.Update(ctx, func(tx store.ShelfTx) error { return tx.Put(memoryVersionKey, sum) })
}

// lifecyclePolicy returns how long records are kept. If the file can't be read, it logs the error
// and returns the defaults.
func (l *Layer) lifecyclePolicy() lifecycle.Policy {
	p, err := lifecycle.Load(filepath.Join(l.o.Root, memoryfile.Dir, lifecycle.FileName))
	if err != nil {
		l.o.Log.Warn("read the lifecycle policy", "cause", err, "try", ken.Hint(err))
		p = lifecycle.Default()
	}
	return p.Decay(l.cfg.Knowledge.DecayDays)
}

// rejection converts a refused write to an entry of the attention queue, without the write's text.
func rejection(a session.Action, err error) attention.Rejection {
	return attention.Rejection{Session: a.SessionID, Branch: a.BranchID, Actor: ken.Actor{Type: a.ActorType, ID: a.ActorID}, Why: err.Error()}
}

// statements learns what users state as soon as their messages are journaled, so that the next
// conversation has it. The zero value learns nothing.
type statements struct {
	waiting chan newMessages // nil if it is switched off
}

// newMessages refers to the messages of a session from number from on. At least one is a user
// message.
type newMessages struct {
	owner, session string
	from           uint64
}

// maxStatements is the maximum number of waiting newMessages. The harvest learns the rest.
const maxStatements = 1024

// statementWindow is the number of messages that are read together, because a statement may refer
// to an earlier message.
const statementWindow = 12

// openStatements sets up the learning of statements, if it is switched on.
func (l *Layer) openStatements() {
	if l.cfg.Middleware.Knowledge && l.cfg.Middleware.Harvest && l.cfg.Harvest.AtOnce {
		l.statements.waiting = make(chan newMessages, maxStatements)
	}
}

// notify reports new messages in a session's journal. It never waits.
func (s *statements) notify(owner, id string, entries []session.Entry) {
	if s.waiting == nil || !slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Message.Role == "user" }) {
		return
	}
	offer(s.waiting, newMessages{owner, id, entries[0].Seq})
}

// runStatements learns what users state, until ctx ends.
func (l *Layer) runStatements(ctx context.Context) {
	for {
		select {
		case st := <-l.statements.waiting:
			if err := caught.Run(func() error { return l.learnStatement(ctx, st) }); err != nil && ctx.Err() == nil {
				l.o.Log.Debug("learn a user's statement; the harvest will retry it", "session", st.session, "cause", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// learnStatements learns the statements that still wait when the layer is closed.
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
	if err != nil || tr.Info.State != session.Open { // the harvest learns from an ended session
		return err
	}
	quotes, err := l.sessionsOf(st.owner).harvester.HarvestStatements(ctx, &tr, st.from)
	if len(quotes) > 0 {
		err = l.withdrawForgotten(ctx, st, &tr, quotes)
	}
	return err
}

// withdrawForgotten forgets claims that were just learned if their messages are no longer in the
// journal. Another process then erased the text, and may have searched the claims before these were
// written.
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

// saidInConversation reports whether a claim rests only on messages and the conversation contains
// the words it was learned from. Then the block need not repeat it. A claim that a person or a test
// confirmed is shown even to the conversation in which it was said.
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

// samplers holds the connected clients whose models may be asked, by owner. The zero value is
// ready.
type samplers struct {
	mu      sync.Mutex // guards byOwner
	byOwner map[string][]*model.Sampler
}

// errNoSampler is the reason why a session is harvested by rules alone.
var errNoSampler = &ken.Error{Code: ken.CodeUnavailable, Field: "harvest.sampling", Msg: "no MCP client that offers sampling is connected",
	Try: "Use a client that offers it, or set harvest.model or harvest.command."}

// AddSampler registers a client whose model harvests the sessions of an owner; "" means the
// configured owner. It is used if harvest.sampling is on and no other model is configured, until
// remove is called.
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

// ask asks the owner's client that connected last.
func (a *samplers) ask(ctx context.Context, owner, system, user string, most int) (text, model string, err error) {
	a.mu.Lock()
	list := slices.Clone(a.byOwner[owner])
	a.mu.Unlock()
	if len(list) == 0 {
		return "", "", errNoSampler
	}
	return (*list[len(list)-1])(ctx, system, user, most)
}
