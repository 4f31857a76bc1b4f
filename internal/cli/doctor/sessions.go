package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// examineSearch reports how well search finds the owner's records, and measures
// it if that is due.
func examineSearch(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "search"
	cfg := l.Config()
	if !cfg.Retrieval.Calibrate {
		return passed(check, "not measured: retrieval.calibrate is false")
	}
	c, err := l.Operator().Calibrate(ctx, owner)
	switch {
	case err != nil:
		return failed(check, err)
	case c == nil:
		return passed(check, "not measured: that takes %d records with a vector", calibrate.MinRecords)
	case c.Questions == 0:
		return passed(check, "not measured: no questions can be made of these records")
	}
	f := finding{Check: check, State: stateOK, Data: c, Detail: fmt.Sprintf(
		"%d questions made of the records: recall@10 %.2f by keywords, %.2f by vectors, %.2f by both; MRR %.2f, %.2f, %.2f. %s",
		c.Questions, c.Keyword.RecallAt10, c.Vector.RecallAt10, figures(c).RecallAt10, c.Keyword.MRR, c.Vector.MRR, figures(c).MRR, describeCalibration(c))}
	if c.Factor < 1 {
		f.State, f.Try = stateWarn, suggestEmbedder(&cfg)
	}
	return f
}

// figures returns the figures of keyword and vector search combined, even if
// calibration turns the vectors off.
func figures(c *calibrate.Calibration) calibrate.Figures {
	for _, t := range c.Tried {
		if t.Factor == 1 && c.Harms() {
			return t.Figures
		}
	}
	return c.Hybrid
}

func describeCalibration(c *calibrate.Calibration) string {
	switch {
	case c.Harms():
		return "The embedder does not help here: turns use keyword search only (factor 0)"
	case c.Factor < 1:
		return fmt.Sprintf("The embedder is weak here: its similarity has the weight %g", c.Factor)
	case c.Gain.Low > 0 && c.Keyword.MRR > 0:
		return fmt.Sprintf("Both together find %.0f %% more than keywords alone (factor %g)", 100*c.Gain.Mean/c.Keyword.MRR, c.Factor)
	}
	return fmt.Sprintf("Vector search has its full weight (factor %g), although it does not improve these test questions", c.Factor)
}

func suggestEmbedder(cfg *config.Config) string {
	switch cfg.EmbedProvider() {
	case config.ProviderBuiltin:
		return "Run ken embed adapt, or set knowledge.embed_model to one that your gateway serves."
	case config.ProviderStatic:
		return "Remove knowledge.embed_path for the built-in table, or set knowledge.embed_model to one that your gateway serves."
	}
	return "Set knowledge.embed_model to another model, or knowledge.embed_provider to builtin."
}

func examineJournal(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "sessions"
	all, err := l.Operator().Journal(owner).List(ctx)
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
		return warned(check, detail, "Run ken sessions for the reason, and ken jobs retry ID when it is fixed.")
	case !on.Journal:
		return warned(check, detail+"; none is kept: middleware.journal is false", "Set middleware.journal to true for sessions to be learned from.")
	case count[session.Open]+count[session.Ended] > 0 && on.Harvest: // this process holds the store, so no other process harvests
		return warned(check, detail, "Run ken harvest; the next ken chat does it too.")
	}
	return passed(check, "%s", detail)
}

func examineJobs(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "jobs"
	all, err := l.Operator().Jobs(owner).List(ctx)
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

// examineHarvest checks that the endpoint serves the model that extracts.
func examineHarvest(ctx context.Context, c config.Config) finding {
	const check = "harvest"
	switch {
	case !c.Middleware.Harvest || !c.Middleware.Journal || !c.Middleware.Knowledge:
		return warned(check, "turned off: nothing is learned from sessions", "Set middleware.knowledge, journal and harvest to true.")
	case c.Harvest.Model == config.HarvestOff:
		return passed(check, "rules extract: harvest.model is off")
	case len(c.HarvestCommand()) > 0:
		return examineCommand(c.HarvestCommand())
	case c.HarvestSampling():
		return passed(check, "the model of a connected MCP client that offers sampling extracts; without one, rules do")
	case c.HarvestModel() == "":
		f := passed(check, "%s", model.Without)
		f.Try = suggestModel(ctx, localServers)
		return f
	case c.Harvest.Tokens == 0:
		return passed(check, "rules extract: harvest.tokens_per_day is 0")
	}
	name := c.HarvestModel()
	at, key := c.HarvestBaseURL(), c.Harvest.APIKeyEnv
	if key == "" && at == c.Upstream.BaseURL {
		key = c.Upstream.APIKeyEnv
	}
	u := cli.NewModel(config.Upstream{BaseURL: at, Model: name, Timeout: min(c.Harvest.Timeout, checkTimeout), APIKeyEnv: key}, "")
	list, err := u.Client.ListModels(ctx)
	switch { // without the model, Ken works with limitations
	case err != nil:
		return warned(check, u.Explain(ctx, "ask "+at, err).Error()+"; rules extract meanwhile",
			"Check that the endpoint runs and lists its models, and check harvest.base_url and harvest.api_key_env.")
	case !serves(list, name):
		return warned(check, at+" does not serve "+name+"; rules extract meanwhile", tryServed("harvest.model", list))
	}
	return passed(check, "%s serves %s", at, name)
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
	if err != nil {
		return failed(check, err)
	}
	if f.Edited {
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
