package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
)

// checkTimeout bounds each question to a service.
const checkTimeout = 5 * time.Second

// examine runs every check that the ones before it leave a ground for.
func (a *app) examine(ctx context.Context, p *progress) []finding {
	root, err := a.project()
	if err != nil {
		return []finding{failed("project", err)}
	}
	out := []finding{passed("project", "%s", root), examineGit()}
	r, err := a.resolve()
	if err != nil {
		return append(out, failed("configuration", err))
	}
	a.noticed = true // it is one of the findings
	cfg := r.Config
	out = append(out, passed("configuration", "%s", cmp.Or(r.File, r.User, "defaults: there is no file")), examineTrust(r))
	out = append(out, examineKnowledge(root)...)
	out = append(out, a.examinePlan(ctx, &cfg)...)

	l, embedder := a.examineEmbedder(ctx, p, cfg)
	if l == nil {
		return append(append(out, embedder...), examineModel(ctx, cfg.Upstream), examineHarvest(ctx, cfg))
	}
	out = append(out, a.examineStore(ctx, l)...)
	out = append(append(out, embedder...), examineModel(ctx, cfg.Upstream), examineHarvest(ctx, cfg))
	if err := l.Close(); err != nil {
		out = append(out, failed("store", fmt.Errorf("close: %w", err)))
	}
	return out
}

func examineGit() finding {
	path, err := exec.LookPath("git")
	if err != nil {
		return warned("git", "not installed: no history is indexed", "Install git.")
	}
	return passed("git", "%s", path)
}

// examineStore looks at the owner's store as every command opens it, which may
// bring its keyword index up to date.
func (a *app) examineStore(ctx context.Context, l *middleware.Layer) []finding {
	const check = "store"
	cfg := l.Config()
	owner := cmp.Or(a.owner, cfg.Knowledge.Owner)
	dir := filepath.Join(cfg.State(l.Root()), bolt.FolderName(owner))
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return []finding{passed(check, "owner %s has none yet; the first ken ask or ken learn makes it", owner)}
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return []finding{failed(check, err)}
	}
	defer release()
	log, err := s.VerifyLog(ctx)
	if err != nil {
		return []finding{failed(check, err)}
	}
	docs, err := s.DocumentHashes(ctx)
	if err != nil {
		return []finding{failed(check, err)}
	}
	out := []finding{passed(check, "owner %s: %d records from %d events and %d documents; the log verifies", owner, s.Len(), log.Events, len(docs))}
	switch embedded, total := s.Coverage(); {
	case s.Embedder() == nil || total == 0:
	case embedded < total:
		out = append(out, warned("vectors", fmt.Sprintf("%d of %d records have none from %s", total-embedded, total, s.Embedder().Model()),
			"Run ken index."))
	default:
		out = append(out, passed("vectors", "all %d records have one from %s", total, s.Embedder().Model()))
		out = append(out, examineSearch(ctx, l, owner))
	}
	return append(out, examineSessions(ctx, l, owner)...)
}

// examineModel asks the endpoint which models it serves.
func examineModel(ctx context.Context, c config.Upstream) finding {
	const check = "model"
	if c.BaseURL == "" {
		return warned(check, "none: ken ask prints the block, ken chat has nobody to talk to",
			"Set upstream.base_url and upstream.model in "+ownConfig()+".")
	}
	c.Timeout = min(c.Timeout, checkTimeout)
	u := newUpstream(c, "")
	list, err := u.client.ListModels(ctx)
	if status, _ := u.refusal(err); status == http.StatusNotFound {
		return warned(check, c.BaseURL+" does not say which models it serves",
			"Check upstream.base_url: it usually ends in the API's version, such as /v1.")
	}
	if err != nil {
		return failed(check, u.explain(ctx, "ask "+c.BaseURL, err))
	}
	if !serves(list, c.Model) {
		return finding{Check: check, State: stateFail, Detail: c.BaseURL + " does not serve " + c.Model, Try: tryServed("upstream.model", list)}
	}
	return passed(check, "%s serves %s", c.BaseURL, c.Model)
}

// serves knows that some gateways list a model with the tag that a request may
// leave out.
func serves(list openai.ModelsList, model string) bool {
	return slices.ContainsFunc(list.Models, func(m openai.Model) bool { return m.ID == model || m.ID == model+":latest" })
}

// tryServed says what a key that names a model could be.
func tryServed(key string, list openai.ModelsList) string {
	if len(list.Models) == 0 {
		return "Install a model: the endpoint serves none."
	}
	var ids []string
	for _, m := range list.Models[:min(len(list.Models), 10)] {
		ids = append(ids, m.ID)
	}
	return "Set " + key + " to one that is served, such as " + strings.Join(ids, ", ") + "."
}
