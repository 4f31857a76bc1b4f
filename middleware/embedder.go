package middleware

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/openai"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/embed/transformer"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/guard"
	"github.com/kenlayer/ken/internal/embed/install"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/retriever/rerank"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// openEmbedder opens the configured embedder in two forms: with a circuit breaker for turns, and
// with retries for the background.
func (l *Layer) openEmbedder() error {
	e, err := l.configuredEmbedder()
	off := "switched off: knowledge.embed_provider is none"
	if err != nil && l.cfg.EmbedProvider() == config.ProviderStatic { // rules, backups and the search by words need no model
		l.o.Log.Warn("search is by words only, because the embedder can't be opened", "cause", err, "try", ken.Hint(err))
		e, err, off = missingEmbedder{embed.None(), err}, nil, "knowledge.embed_path can't be opened: ken doctor says why"
	}
	if err != nil {
		return err
	}
	k := &l.cfg.Knowledge
	l.embedder = guard.New(embed.Queries(e), guard.Options{Timeout: k.EmbedTimeout, Failures: l.cfg.Breaker.Failures,
		ProbeEvery: l.cfg.Breaker.Open, Cache: guard.NewCache(0)})
	l.vectorCause = vectorOff(&l.cfg)
	switch {
	case l.vectorCause != "":
	case e.Model() == embed.None().Model():
		l.vectorCause = off
	default:
		if l.backgroundEmbedder = e; !embed.IsLocal(e) {
			l.backgroundEmbedder = guard.Retry(e, 0)
		}
	}
	return nil
}

// missingEmbedder stands for an embedder that can't be opened. Like embed.None, it has no vectors.
type missingEmbedder struct {
	embed.Embedder
	cause error
}

// Embed returns the cause.
func (m missingEmbedder) Embed(context.Context, []string) ([][]float32, error) { return nil, m.cause }

// openReranker opens the configured reranker, if there is one.
func (l *Layer) openReranker() {
	if r := &l.cfg.Rerank; r.BaseURL != "" {
		l.reranker = rerank.New(rerank.Options{BaseURL: r.BaseURL, Model: r.Model, Key: l.cfg.RerankKey(), Deadline: r.Timeout,
			Breaker: breaker.Options{Failures: l.cfg.Breaker.Failures, OpenFor: l.cfg.Breaker.Open}})
	}
}

// vectorOff returns the name of the setting that switches vector search off; "" if none does.
func vectorOff(c *config.Config) string {
	switch {
	case !c.Middleware.Vector:
		return "switched off: middleware.vector is false"
	case !c.Knowledge.Embeddings:
		return "switched off: knowledge.embeddings is false"
	}
	return ""
}

// configuredEmbedder returns the embedder from the options or the configuration.
func (l *Layer) configuredEmbedder() (embed.Embedder, error) {
	if l.o.Embedder != nil {
		return l.o.Embedder, nil
	}
	k := &l.cfg.Knowledge
	switch l.cfg.EmbedProvider() {
	case config.ProviderBuiltin:
		return l.builtinEmbedder()
	case config.ProviderStatic:
		path := config.InProject(l.o.Root, k.EmbedPath)
		if m := install.Named(k.EmbedPath); m != nil {
			var ok bool
			if path, ok = m.Path(install.Folder()); !ok {
				err := m.Missing("knowledge.embed_path", install.Folder())
				l.o.Log.Warn("the built-in embedder is used", "cause", err, "try", ken.Hint(err))
				return l.builtinEmbedder()
			}
		}
		return l.openPath(path)
	case config.ProviderOpenAI:
		return openai.New(openai.Options{BaseURL: l.cfg.EmbedBaseURL(), Key: l.cfg.EmbedAPIKey(), Model: k.EmbedModel,
			Dimensions: k.EmbedDimensions})
	}
	return embed.None(), nil
}

// openPath opens the file or folder of an embedder.
func (l *Layer) openPath(path string) (embed.Embedder, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return table.Read(path)
	}
	if transformer.IsFolder(path) {
		return transformer.Open(path, transformer.Options{Int8: l.cfg.Knowledge.EmbedInt8})
	}
	return static.Open(path)
}

// builtinEmbedder returns the built-in table, or the copy that was adapted to this project. If that
// copy can't be read, it logs the error and returns the built-in table.
func (l *Layer) builtinEmbedder() (embed.Embedder, error) {
	base, err := builtin.Open()
	if err != nil {
		return nil, err
	}
	path, ok := adapt.Find(l.cfg.State(l.o.Root), base.Model())
	if !ok {
		return base, nil
	}
	adapted, err := table.Read(path)
	if err != nil {
		l.o.Log.Warn("the built-in embedder is used instead of the adapted one", "cause", err, "try", "Run ken embed adapt again, or ken embed adapt --remove.")
		return base, nil
	}
	return adapted, nil
}

// retrievalOptions converts the configuration to search options.
func retrievalOptions(c *config.Config) retriever.Options {
	o := retriever.Options{Pool: c.Retrieval.Pool, K: float64(c.Retrieval.RRFK),
		Limits: map[string]int{retriever.SourceKeyword: c.Retrieval.Legs.Keyword, retriever.SourceVector: c.Retrieval.Legs.Vector,
			retriever.SourceStructure: c.Retrieval.Legs.Structure, retriever.SourceSessions: c.Knowledge.Sessions, retriever.SourcePlaybooks: c.Knowledge.Playbooks},
		Order: retriever.Order(c.Retrieval.Rank), VectorWeight: c.Retrieval.RRFWeight, TopK: c.Knowledge.TopK, Nearest: c.Knowledge.Nearest, Deadline: c.Retrieval.Deadline,
		DecayDays: c.Knowledge.DecayDays, Weights: (*retriever.Weights)(&c.Retrieval.Signals), Floor: c.Retrieval.Floor}
	o.Structure = structureOptions(c)
	if !c.Middleware.Floor || c.Retrieval.Floor == 0 {
		o.Floor = -1
	}
	return o
}

// legs returns the sources that a turn searches: those that are switched on, or none if the turn
// asks for nothing. A turn that resumes earlier work searches recent sessions and the pinned
// claims. e embeds the question; nil means no vector search.
func (l *Layer) legs(c *config.Config, p store.Projections, s *ken.Signals, e embed.Embedder) []retriever.Source {
	asks := s.Asks
	var out []retriever.Source
	m := &c.Middleware
	if asks && m.Keyword {
		out = append(out, retriever.Keyword(p))
	}
	if asks && e != nil {
		out = append(out, retriever.Vector(p, e))
	}
	if (asks || s.Resumes) && m.Pinned {
		out = append(out, retriever.Pinned(p))
	}
	if (asks || s.Resumes) && m.Sessions && c.Knowledge.Sessions > 0 {
		out = append(out, retriever.Sessions(p))
	}
	if asks && m.Playbooks && c.Knowledge.Playbooks > 0 {
		out = append(out, retriever.Playbooks(p, l.playbooks))
	}
	return out
}

func (l *Layer) indexing() repository.Options {
	r := &l.cfg.Repository
	progress := func(p repository.Progress) {
		l.firstIndex.note(p)
		l.o.Progress(string(p.Stage), p.Done, p.Total)
	}
	return repository.Options{Progress: progress,
		MaxFileBytes: int64(r.MaxFileBytes), MaxChunk: r.ChunkChars, Standing: l.decisionStatus(), Declarations: codebase.Declarations,
		Exclude: r.Exclude, MaxCommits: r.GitCommits, NoHistory: r.GitCommits == 0}
}

// calibrateSeed is the random seed for drawing the calibration's questions. It is fixed, so that
// the same records give the same calibration in every process.
const calibrateSeed = 1

// calibrations holds the calibration of each owner. It is read from the owner's file at the first
// turn.
type calibrations struct {
	mu        sync.RWMutex // guards m and its values; a Calibration is immutable
	m         map[string]*calibrated
	due       chan string // owners whose calibration is due, reported by turns; nil without a background
	measuring sync.Mutex  // one measurement at a time
}

// calibrated holds an owner's calibration and where it came from.
type calibrated struct {
	current     *calibrate.Calibration // the calibration in use; nil for none
	previous    *calibrate.Calibration // the file's calibration, if it is for another model; nil otherwise
	requestedAt int                    // number of records at the last measurement or request

	file    stamp     // the file that current was read from
	checked time.Time // when the file was last checked
}

// fileCheckEvery is how often turns check whether another process wrote the file.
const fileCheckEvery = time.Second

// stamp identifies a version of a calibration file. The process that holds the store writes the
// file.
type stamp struct {
	at   time.Time
	size int64
}

// calibrationStamp returns the stamp of an owner's file; the zero value if there is no file.
func (l *Layer) calibrationStamp(owner string) stamp {
	fi, err := os.Stat(filepath.Join(l.ownerDir(owner), calibrate.File))
	if err != nil {
		return stamp{}
	}
	return stamp{fi.ModTime(), fi.Size()}
}

// ownerOrDefault returns the configured owner for "".
func (l *Layer) ownerOrDefault(owner string) string { return cmp.Or(owner, l.cfg.Knowledge.Owner) }

// setOwner sets the owner of a turn that names none. With Options.RequireOwner, such a turn gets no
// knowledge and leaves no trace.
func (l *Layer) setOwner(t *ken.Turn) {
	if l.lacksOwner(t.Owner) {
		t.Weight, t.Incognito, t.Policy = ken.WeightNone, true, "a turn without an owner"
	}
	t.Owner = l.ownerOrDefault(t.Owner)
}

// lacksOwner reports whether a turn has to name its owner and does not.
func (l *Layer) lacksOwner(owner string) bool { return owner == "" && l.o.RequireOwner }

// CheckOwner returns ErrInvalid for the owner of a turn or a call that has to name one and does not.
func (l operator) CheckOwner(owner string) error {
	if !l.lacksOwner(owner) {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "owner", Msg: "the turn has no owner, and this layer requires one", Try: "Set Owner in the turn of ken.WithTurn."}
}

// usesCalibration reports whether a calibration has any effect.
func (l *Layer) usesCalibration() bool { return l.cfg.Retrieval.Calibrate && l.vectorCause == "" }

// Calibration returns the measured quality of the embedder on an owner's store; "" means the
// configured owner. It returns nil if nothing was measured or calibration is switched off. Do not
// change it.
func (l operator) Calibration(owner string) *calibrate.Calibration {
	if !l.usesCalibration() {
		return nil
	}
	return l.calibrationOf(l.ownerOrDefault(owner)).current
}

// calibrationOf returns a copy of what is known about an owner. It reads the file at the first call
// and when the file has changed.
func (l *Layer) calibrationOf(owner string) calibrated {
	cs := &l.calibrations
	cs.mu.RLock()
	known, at := cs.m[owner], l.now()
	if known != nil && at.Sub(known.checked).Abs() < fileCheckEvery {
		defer cs.mu.RUnlock()
		return *known
	}
	cs.mu.RUnlock()
	file := l.calibrationStamp(owner)
	if known != nil {
		l.updateCalibration(owner, func(c *calibrated) { c.checked = at })
		if same := l.unchangedCalibration(owner, file); same != nil {
			return *same
		}
	}
	c, err := calibrate.Read(l.ownerDir(owner))
	if err != nil {
		l.o.Log.Warn("the calibration is left out until it is measured again", "owner", owner, "cause", err)
	}
	var previous *calibrate.Calibration
	if c != nil && !c.For(l.embedder.Model()) {
		c, previous = nil, c
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if known = cs.m[owner]; known == nil {
		known = &calibrated{checked: at}
		if cs.m == nil {
			cs.m = map[string]*calibrated{}
		}
		cs.m[owner] = known
	}
	if known.file != file || known.current == nil {
		known.current, known.previous, known.file = c, previous, file
	}
	return *known
}

// unchangedCalibration returns a copy of what is known; nil if the file was changed since it was
// read.
func (l *Layer) unchangedCalibration(owner string, file stamp) *calibrated {
	l.calibrations.mu.RLock()
	defer l.calibrations.mu.RUnlock()
	known := *l.calibrations.m[owner]
	if known.file == file || file == (stamp{}) {
		return &known
	}
	return nil
}

func (l *Layer) ownerDir(owner string) string {
	return filepath.Join(l.cfg.State(l.o.Root), bolt.FolderName(owner))
}

// Calibrate measures the quality of the embedder on an owner's store if that is due. It writes the
// result beside the store and uses it from the next turn on. It returns the calibration in use: nil
// if calibration is off, or if the store has too few records, or too few of them with a vector.
//
// It takes up to a second, and with an embedding service also the time for about 200 questions. No
// turn waits for it.
func (l operator) Calibrate(ctx context.Context, owner string) (*calibrate.Calibration, error) {
	if !l.usesCalibration() {
		return nil, nil
	}
	owner = l.ownerOrDefault(owner)
	l.calibrations.measuring.Lock()
	defer l.calibrations.measuring.Unlock()
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	known := l.calibrationOf(owner)
	have, total := s.Coverage()
	if s.Standby() != "" || !enoughVectors(have, total) || !known.current.Due(l.embedder.Model(), total) {
		return known.current, nil
	}
	l.updateCalibration(owner, func(c *calibrated) { c.requestedAt = total })
	c, err := calibrate.Run(ctx, s, l.backgroundEmbedder, l.retrieval, calibrate.Options{Seed: calibrateSeed, Now: l.now,
		Filter: ken.Filter{Unscoped: true, Now: l.now().UTC(), MinTrust: l.cfg.Retrieval.MinTrust},
		Progress: func(done, total int) {
			l.yieldToTurns(ctx)
			l.o.Progress("calibrate", done, total)
		}})
	if err != nil {
		return known.current, fmt.Errorf("calibrate: %w", err)
	}
	err = c.Write(s.Dir())
	file := l.calibrationStamp(owner)
	l.updateCalibration(owner, func(known *calibrated) { known.current, known.file = c, file })
	return c, err
}

// updateCalibration applies change to what is known about an owner.
func (l *Layer) updateCalibration(owner string, change func(*calibrated)) {
	l.calibrations.mu.Lock()
	defer l.calibrations.mu.Unlock()
	change(l.calibrations.m[owner])
}

// enoughVectors reports whether enough records have a vector to measure. If many lack one, the
// result would be too low.
func enoughVectors(have, total int) bool { return have >= calibrate.MinRecords && 10*have >= 9*total }

// requestCalibration reports to the background that an owner's calibration is due. It does not
// wait.
func (l *Layer) requestCalibration(owner string, have, total int) {
	if l.calibrations.due == nil || !l.usesCalibration() || !enoughVectors(have, total) {
		return
	}
	known := l.calibrationOf(owner)
	if !known.current.Due(l.embedder.Model(), total) || 2*total < 3*known.requestedAt {
		return
	}
	if offer(l.calibrations.due, owner) { // otherwise another turn will ask
		l.updateCalibration(owner, func(c *calibrated) { c.requestedAt = total })
	}
}

// runCalibrations measures the calibrations that turns requested, until ctx ends.
func (l *Layer) runCalibrations(ctx context.Context) {
	for {
		select {
		case owner := <-l.calibrations.due:
			// The holder of the configured owner's store measures it in maintainStore.
			if owner != l.cfg.Knowledge.Owner || l.owners.Holds(owner) {
				l.calibrateQuietly(ctx, owner)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (l *Layer) calibrateQuietly(ctx context.Context, owner string) {
	l.quietly(ctx, "measure the embedder's quality", func() error {
		_, err := l.Operator().Calibrate(ctx, owner)
		return err
	}, "owner", owner)
}

// searchOptions returns the search options of an owner's turns, without the sources, and the reason
// why there is no vector search; "" if there is one.
func (l *Layer) searchOptions(owner string) (retriever.Options, string) {
	return l.searchOptionsFor(l.Operator().Calibration(owner))
}

// searchOptionsFor is searchOptions for a caller that has the calibration.
func (l *Layer) searchOptionsFor(c *calibrate.Calibration) (retriever.Options, string) {
	return applyCalibration(c, l.retrieval, l.cfg.Middleware.Keyword, l.vectorCause)
}

// applyCalibration returns the search options under a calibration, and the reason why there is no
// vector search; "" if there is one. The reason is cause, or that the keyword search alone finds
// more. words reports whether keyword search is switched on.
func applyCalibration(c *calibrate.Calibration, o retriever.Options, words bool, cause string) (retriever.Options, string) {
	o = c.Apply(o)
	if c.Harms() && words && o.Order == retriever.OrderEvidence {
		return o, fmt.Sprintf("calibrated: vector search with %s finds less here than keyword search alone", c.Model)
	}
	return o, cause
}
