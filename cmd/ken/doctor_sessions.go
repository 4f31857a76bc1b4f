package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// examineSessions looks at an owner's journal and at its jobs.
func examineSessions(ctx context.Context, l *middleware.Layer, owner string) []finding {
	return []finding{examineJournal(ctx, l, owner), examineJobs(ctx, l, owner)}
}

func examineJournal(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "sessions"
	all, err := l.Journal(owner).List(ctx)
	if err != nil {
		return failed(check, err)
	}
	count := map[session.State]int{}
	messages := 0
	for i := range all {
		count[all[i].State]++
		messages += all[i].Messages
	}
	detail := fmt.Sprintf("%d, of which %d are harvested, %d wait for it, %d are open, %d failed; %d messages are in the journal",
		len(all), count[session.Harvested], count[session.Ended], count[session.Open], count[session.Failed], messages)
	switch on := l.Config().Middleware; {
	case count[session.Failed] > 0:
		return warned(check, detail, "Run ken sessions for the reason, and ken jobs retry ID when it is mended.")
	case !on.Journal:
		return warned(check, detail+"; none is kept: middleware.journal is false", "Set middleware.journal to true for sessions to be learned from.")
	case count[session.Open]+count[session.Ended] > 0 && on.Harvest: // this process holds the store, so nobody is at them
		return warned(check, detail, "Run ken harvest; the next ken chat does it as well.")
	}
	return passed(check, "%s", detail)
}

func examineJobs(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "jobs"
	all, err := l.Jobs(owner).List(ctx)
	if err != nil {
		return failed(check, err)
	}
	count := map[jobs.State]int{}
	var dead *jobs.Job
	for i := range all {
		if count[all[i].State]++; all[i].State == jobs.Dead {
			dead = &all[i]
		}
	}
	detail := fmt.Sprintf("%d wait, %d are done, %d are dead", count[jobs.Queued]+count[jobs.Running], count[jobs.Done], count[jobs.Dead])
	if dead != nil {
		return warned(check, detail+"; the last of these: "+dead.Error, "Run ken jobs --state dead, and then ken jobs retry or rm.")
	}
	return passed(check, "%s", detail)
}

// examineHarvest asks whether the model that extracts is served.
func examineHarvest(ctx context.Context, c config.Config) finding {
	const check = "harvest"
	switch {
	case !c.Middleware.Harvest || !c.Middleware.Journal || !c.Middleware.Knowledge:
		return warned(check, "switched off: sessions teach nothing", "Set middleware.knowledge, journal and harvest to true.")
	case c.Harvest.Model == "":
		return passed(check, "rules extract: harvest.model is empty")
	}
	at, key := c.HarvestBaseURL(), c.Harvest.APIKeyEnv
	if key == "" && at == c.Upstream.BaseURL {
		key = c.Upstream.APIKeyEnv
	}
	u := newUpstream(config.Upstream{BaseURL: at, Model: c.Harvest.Model, Timeout: min(c.Harvest.Timeout, checkTimeout), APIKeyEnv: key}, "")
	list, err := u.client.ListModels(ctx)
	switch { // without the model, Ken works
	case err != nil:
		return warned(check, u.explain(ctx, "ask "+at, err).Error()+"; rules extract meanwhile",
			"See that the endpoint runs and lists its models, and check harvest.base_url and harvest.api_key_env.")
	case !serves(list, c.Harvest.Model):
		return warned(check, at+" does not serve "+c.Harvest.Model+"; rules extract meanwhile", tryServed("harvest.model", list))
	}
	return passed(check, "%s serves %s", at, c.Harvest.Model)
}

// examineKnowledge reads the files that people edit.
func examineKnowledge(root string) []finding {
	return []finding{examineMemory(filepath.Join(root, filepath.FromSlash(middleware.KnowledgeDir), memoryfile.Name)), examineLifecycle(lifecycleFile(root))}
}

func examineMemory(path string) finding {
	const check = "memory"
	b, err := memoryfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return passed(check, "no %s yet: the first session with a pattern writes it", memoryfile.Name)
	}
	if err != nil {
		return failed(check, err)
	}
	f, err := memoryfile.Parse(b)
	switch {
	case err != nil:
		return failed(check, err)
	case f.Edited:
		return warned(check, fmt.Sprintf("%s has %d entries, and was edited since it was written", memoryfile.Name, len(f.Lines)),
			"Run ken memory sync for the edits to count.")
	}
	return passed(check, "%s has %d entries", memoryfile.Name, len(f.Lines))
}

func examineLifecycle(path string) finding {
	const check = "lifecycle"
	if _, err := lifecycle.Load(path); err != nil {
		return failed(check, err)
	}
	if _, err := os.Stat(path); err != nil {
		return passed(check, "defaults: there is no %s", lifecycle.FileName)
	}
	return passed(check, "%s", path)
}
