package middleware

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/store"
)

// KnowledgeDir holds what a team commits, below the project's root: text that
// people read and edit, such as MEMORY.md and lifecycle.yaml.
const KnowledgeDir = ".ken/knowledge"

// harvesterFor makes an owner's harvester as it is configured, and what closes its
// connections.
func (l *Layer) harvesterFor(t tenant, j *session.Journal) (h *harvest.Harvester, shut func() error) {
	shut = func() error { return nil }
	c := &l.cfg
	o := harvest.Options{Store: t, Journal: j, NoFacts: !c.Knowledge.Facts, Tools: l.tools, Ingest: c.Middleware.Ingest,
		IngestChars: c.Harvest.IngestChars, Rules: extract.Options{FactChars: c.Harvest.FactChars}, Log: l.o.Log}
	book := receipt.NewBook(t, l.receipts())
	o.Tainted = book.Marks
	if c.Harvest.Model != "" {
		most := c.Harvest.MaxFacts
		if most == 0 {
			most = -1 // the configuration's 0 means none, the model's its default
		}
		m := model.New(model.Options{BaseURL: c.HarvestBaseURL(), APIKey: c.HarvestAPIKey(), Model: c.Harvest.Model,
			Timeout: c.Harvest.Timeout, Window: c.Harvest.Window, MaxFacts: most, FactChars: c.Harvest.FactChars,
			Log: l.o.Log})
		o.Model, shut = m, m.Close
	}
	if t.owner == c.Knowledge.Owner {
		o.Wrote = func(ctx context.Context, _ session.Info, out session.Outcome) error {
			if len(out.Patterns) == 0 {
				return nil // nothing of it is in MEMORY.md
			}
			_, err := l.SyncMemory(ctx, "")
			return err
		}
	}
	return harvest.New(o), shut
}

// SyncMemory reads what people changed in MEMORY.md and writes it anew. by is who
// edited it, "" for nobody in particular. Only the configured owner has one.
func (l *Layer) SyncMemory(ctx context.Context, by string) (memoryfile.Report, error) {
	path := filepath.Join(l.o.Root, KnowledgeDir, memoryfile.Name)
	if info, err := os.Lstat(path); !trust.Inside(trust.Real(l.o.Root), trust.Real(path)) || err == nil && !info.Mode().IsRegular() {
		return memoryfile.Report{}, &ken.Error{Code: ken.CodeRefused, Field: memoryfile.Name, Msg: "is no plain file of the project", Try: "Take the link out of the way."}
	}
	t := tenant{l, l.cfg.Knowledge.Owner}
	own, err := l.ownLines(ctx, t, path)
	if err != nil {
		return memoryfile.Report{}, err
	}
	r, err := memoryfile.Sync(ctx, t, memoryfile.Options{Write: true, Now: l.now, Path: path, By: cmp.Or(by, memoryfile.Name), Own: own})
	if err != nil {
		return r, err
	}
	return r, l.knowMemory(ctx, t, path)
}

// knownMemory is where the shelf has the hash of the version of MEMORY.md that Ken knew
// last in this project.
const knownMemory = "memory/known"

// ownLines returns what tells the user's own lines of MEMORY.md from those that others
// may have committed: the user's are written into a file that Ken knew, and git has them
// nowhere yet. Where that can't be found out, none is.
func (l *Layer) ownLines(ctx context.Context, t tenant, path string) (func(string) bool, error) {
	known := false
	err := t.View(ctx, func(r store.ShelfReader) error {
		known = len(r.Get(knownMemory)) > 0
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

// knowMemory records the version of MEMORY.md that is there now.
func (l *Layer) knowMemory(ctx context.Context, t tenant, path string) error {
	b, err := memoryfile.Read(path)
	if err != nil {
		return fmt.Errorf("record the version of %s: %w", memoryfile.Name, err)
	}
	sum := []byte(projectfile.Hash(b))
	var have []byte
	err = t.View(ctx, func(r store.ShelfReader) error {
		have = bytes.Clone(r.Get(knownMemory))
		return nil
	})
	if err != nil || bytes.Equal(have, sum) {
		return err
	}
	return t.Update(ctx, func(tx store.ShelfTx) error { return tx.Put(knownMemory, sum) })
}

// policy is how long things are kept. A file that can't be read is told, and
// until it is mended the defaults hold.
func (l *Layer) policy() lifecycle.Policy {
	p, err := lifecycle.Load(filepath.Join(l.o.Root, KnowledgeDir, lifecycle.FileName))
	if err != nil {
		l.o.Log.Warn("read the lifecycle policy", "cause", err, "try", ken.Hint(err))
		p = lifecycle.Default()
	}
	return p.Decay(l.cfg.Knowledge.DecayDays)
}

// rejection is a refused write as the attention queue keeps it, without what was to be
// written.
func rejection(a session.Action, err error) attention.Rejection {
	return attention.Rejection{Session: a.SessionID, Branch: a.BranchID, Actor: ken.Actor{Type: a.ActorType, ID: a.ActorID}, Why: err.Error()}
}
