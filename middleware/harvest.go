package middleware

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/attention"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/harvest/extract"
	"github.com/kenlayer/ken/harvest/memoryfile"
	"github.com/kenlayer/ken/harvest/model"
	"github.com/kenlayer/ken/lifecycle"
	"github.com/kenlayer/ken/session"
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
	return memoryfile.Sync(ctx, tenant{l, l.cfg.Knowledge.Owner}, memoryfile.Options{Write: true, Now: l.now,
		Path: filepath.Join(l.o.Root, KnowledgeDir, memoryfile.Name), By: cmp.Or(by, memoryfile.Name)})
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
