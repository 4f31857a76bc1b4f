package consoletest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Options configures Furnish. The zero value works.
type Options struct {
	// Now is when the story ends; zero is time.Now. A server that is started on the
	// project later looks after it by its own clock, so a Now that is more than a week
	// old has the messages of its sessions swept away.
	Now time.Time
	// Seed is of the ids and of the synthetic claims.
	Seed uint64
	// Claims is how many synthetic claims there are beside the story's own.
	Claims int
	// Log hears what the layer logs; default nobody.
	Log *slog.Logger
}

// Furnish makes a project in a folder, which must be empty or not be there, and says what
// is in it. It takes some seconds, and some more for each ten thousand of Options.Claims.
// After an error the folder is in no useful state.
func Furnish(ctx context.Context, dir string, o Options) (Project, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Now = o.Now.UTC().Truncate(time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, fmt.Errorf("find project: %w", err)
	}
	if list, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) || len(list) > 0 {
		return Project{}, errors.Join(fmt.Errorf("%s is not empty", dir), err)
	}
	f := &furnisher{o: o, clock: &clock{at: o.Now}, ids: &ids{seed: o.Seed}, project: newProject(dir, o)}
	if err := f.files(); err != nil {
		return f.project, fmt.Errorf("write files: %w", err)
	}
	if err := f.tell(ctx); err != nil {
		return f.project, err
	}
	if err := f.sweeps(ctx); err != nil {
		return f.project, fmt.Errorf("sweep: %w", err)
	}
	return f.project, nil
}

// furnisher is at work on one project. It belongs to one goroutine.
type furnisher struct {
	o       Options
	clock   *clock
	ids     *ids
	project Project

	layer *middleware.Layer
}

// open opens the layer, with or without the leg of meaning.
func (f *furnisher) open(ctx context.Context, vector bool) error {
	path, ok := config.Find(f.project.Dir)
	if !ok {
		return fmt.Errorf("no configuration in %s", f.project.Dir)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	cfg.Middleware.Vector = vector
	f.layer, err = middleware.Open(ctx, middleware.Options{Root: f.project.Dir, Config: &cfg, Strict: true, Foreground: true,
		Log: f.o.Log, Now: f.clock.Now, NewID: func() string { return f.ids.next(f.clock.Now()) }})
	if err != nil {
		return fmt.Errorf("open layer: %w", err)
	}
	if err := f.catchUp(ctx); err != nil {
		return errors.Join(err, f.close())
	}
	return nil
}

// catchUp reads the repository, and embeds what has no vector yet.
func (f *furnisher) catchUp(ctx context.Context) error {
	if _, err := f.layer.Refresh(ctx, ""); err != nil {
		return fmt.Errorf("index the repository: %w", err)
	}
	return f.store(ctx, Bob, func(s store.Engine) error {
		if !f.layer.Config().Middleware.Vector {
			return nil
		}
		_, err := s.EmbedMissing(ctx)
		return err
	})
}

func (f *furnisher) close() error {
	if f.layer == nil {
		return nil
	}
	l := f.layer
	f.layer = nil
	return l.Close()
}

// Bob is the owner whose knowledge nobody else may see. The others' is ken.DefaultOwner.
const Bob = "bob"

// Words that stand in what one owner knows, often, and nowhere else: a page of the other
// owner that has one has a leak.
const (
	OwnWord = "quillfeather"
	BobWord = "mossgarnet"
)

// Repo is the scope of the project's own repository.
const Repo = "example.com/payments"

// Keys are what opens the gateway of a project, in clear: the project's configuration has
// the hashes. They follow from Options.Seed, so they are good for tests alone.
type Keys struct {
	Operator string `json:"operator"` // may do everything with what the default owner knows
	Reader   string `json:"reader"`   // may read it
	Other    string `json:"other"`    // may do everything with what Bob knows
}

// Markers are OwnWord and BobWord, for tests in other languages.
type Markers struct {
	Own   string `json:"own"`
	Other string `json:"other"`
}

// Hostile are the names by which hostile things have pages of their own.
type Hostile struct {
	Agent   string `json:"agent"`
	Entity  string `json:"entity"`
	File    string `json:"file"`
	Project string `json:"project"`
}

// Project says what Furnish made, by names that tests go by. Ids of claims are whole.
type Project struct {
	Dir     string  `json:"dir"`
	Keys    Keys    `json:"keys"`
	Markers Markers `json:"markers"`
	Hostile Hostile `json:"hostile"`

	Claims   map[string]string `json:"claims"`   // by their names in the story
	Turns    map[string]string `json:"turns"`    // likewise
	Sessions map[string]string `json:"sessions"` // by name, the id

	// Learned are the ids of the claims that the harvest of a session wrote, by the session's
	// name. The store made them up, so they differ from run to run.
	Learned map[string][]string `json:"learned"`

	Patterns   []string `json:"patterns"` // ids of the story's twelve candidates, most reinforced first
	Entities   []string `json:"entities"` // names, the one with most around it first
	Agents     []string `json:"agents"`
	Decisions  []string `json:"decisions"`
	Objectives []string `json:"objectives"`
	Files      []string `json:"files"`  // that claims rest on; the first has changed since
	Sweeps     []string `json:"sweeps"` // names of the reports, the older first
	Others     []string `json:"others"` // ids of Bob's claims
}

func newProject(dir string, o Options) Project {
	return Project{Dir: dir, Markers: Markers{OwnWord, BobWord}, Hostile: Hostile{hostileAgent, hostileEntity, hostileFile, hostileProject},
		Keys:   Keys{Operator: secret(o.Seed, "operator"), Reader: secret(o.Seed, "reader"), Other: secret(o.Seed, "other")},
		Claims: map[string]string{}, Turns: map[string]string{}, Sessions: map[string]string{}, Learned: map[string][]string{},
		Patterns: []string{}, Others: []string{}, Agents: []string{builder, reviewer},
		Entities: []string{"payments", "ledger", "bank", hostileEntity}, Decisions: []string{"ADR-0001", "ADR-0002", "ADR-0003", "ADR-0004", "ADR-0005", "ADR-0006"},
		Objectives: []string{"OBJ-0001", "OBJ-0002", "OBJ-0003"}, Files: []string{staleFile, "retry/retry.go", "ledger/post.go"}, Sweeps: []string{"keyword", "hybrid"}}
}

// secret is a key of the form that access.NewKey gives.
func secret(seed uint64, name string) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("furnish "+name), seed))
	return access.KeyPrefix + hex.EncodeToString(sum[:])
}

// repo is the scope that most of the story's claims have.
var repo = ken.Scope{Type: ken.ScopeRepo, ID: Repo}

// clock stands still until it is set. It is safe for concurrent use.
type clock struct {
	mu sync.Mutex
	at time.Time
}

// Now is the time that it was set to.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// ids makes UUIDs of version 7 that are the same in every run. It is safe for concurrent use.
type ids struct {
	seed uint64

	mu sync.Mutex
	n  uint64
}

// next is an id that was not there before.
func (i *ids) next(at time.Time) string {
	i.mu.Lock()
	i.n++
	n := i.n
	i.mu.Unlock()
	return i.id(at, binary.BigEndian.AppendUint64(nil, n))
}

// named is the id that goes by a name.
func (i *ids) named(at time.Time, name string) string { return i.id(at, []byte("name "+name)) }

func (i *ids) id(at time.Time, of []byte) string {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, i.seed), of...))
	var u uuid.UUID
	copy(u[:], sum[:])
	ms := uint64(at.UnixMilli())
	for k := range 6 {
		u[k] = byte(ms >> (40 - 8*k))
	}
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u.String()
}

const day = 24 * time.Hour

// step is something that happened so long before Options.Now.
type step struct {
	ago  time.Duration
	name string
	do   func(ctx context.Context) error
}

// vectorSince is when the leg of meaning was switched on: turns before that ran with
// words alone.
const vectorSince = 3*day + 12*time.Hour

// tell has everything happen in its order: what came first was there first, in the log
// too. Two layers after each other tell it, the first without the leg of meaning.
func (f *furnisher) tell(ctx context.Context) (err error) {
	steps := slices.Concat(f.synthetic(), f.knowledge(), f.patterns(), f.things(), f.hostile(), f.conversations(), f.changes(), f.bobs(), f.work())
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(b.ago, a.ago) })
	defer func() { err = errors.Join(err, f.close()) }()
	vector := false
	f.clock.set(f.o.Now.Add(-steps[0].ago))
	if err := f.open(ctx, vector); err != nil {
		return err
	}
	for _, s := range steps {
		f.clock.set(f.o.Now.Add(-s.ago))
		if !vector && s.ago <= vectorSince {
			vector = true
			if err := errors.Join(f.close(), f.open(ctx, vector)); err != nil {
				return err
			}
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	f.clock.set(f.o.Now)
	return f.finish(ctx)
}

// finish brings what works in the background up to date.
func (f *furnisher) finish(ctx context.Context) error {
	if err := f.layer.Recorded(ctx); err != nil {
		return err
	}
	for _, owner := range []string{"", Bob} {
		if _, err := f.layer.File(ctx, owner); err != nil {
			return fmt.Errorf("file: %w", err)
		}
	}
	return errors.Join(f.catchUp(ctx), f.orderPatterns(ctx))
}
