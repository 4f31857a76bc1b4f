package consoletest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
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

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Options configures Furnish. The zero value works.
type Options struct {
	// Now is when the story ends; zero means time.Now. A server that is started on the
	// project later cleans up by its own clock: if Now is more than a week old, it
	// deletes the messages of the sessions.
	Now time.Time
	// Seed determines the ids and the synthetic claims.
	Seed uint64
	// Claims is the number of synthetic claims besides the story's own.
	Claims int
}

// Furnish creates a project in a folder, which must be empty or missing, and returns a
// description of it. It takes some seconds, and some more for each ten thousand of
// Options.Claims. After an error the folder must not be used.
func Furnish(ctx context.Context, dir string, o Options) (Project, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Now = o.Now.UTC().Truncate(time.Second)
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

// furnisher creates one project. It must be used by one goroutine.
type furnisher struct {
	o       Options
	clock   *clock
	ids     *ids
	project Project

	layer *middleware.Layer
}

// open opens the layer, with or without vector search.
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
		Log: slog.New(slog.DiscardHandler), Now: f.clock.Now, NewID: func() string { return f.ids.next(f.clock.Now()) }})
	if err != nil {
		return fmt.Errorf("open layer: %w", err)
	}
	if err := f.catchUp(ctx); err != nil {
		return errors.Join(err, f.close())
	}
	return nil
}

// catchUp indexes the repository, and embeds the records without a vector.
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

// clock is a clock that only moves when it is set. It is safe for concurrent use.
type clock struct {
	mu sync.Mutex
	at time.Time
}

// Now returns the time that was set.
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

// ids creates version 7 UUIDs that are the same in every run. It is safe for concurrent
// use.
type ids struct {
	seed uint64

	mu sync.Mutex
	n  uint64
}

func (i *ids) next(at time.Time) string {
	i.mu.Lock()
	i.n++
	n := i.n
	i.mu.Unlock()
	return i.id(at, binary.BigEndian.AppendUint64(nil, n))
}

// named returns the id of a name.
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

// step is something that happened a given time before Options.Now.
type step struct {
	ago  time.Duration
	name string
	do   func(ctx context.Context) error
}

// vectorSince is when vector search was turned on: earlier turns only used keyword
// search.
const vectorSince = 3*day + 12*time.Hour

// tell runs all steps in order of time, so that the log has that order too. It uses two
// layers one after the other, the first without vector search.
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

// finish completes the background work.
func (f *furnisher) finish(ctx context.Context) error {
	if err := f.layer.Operator().Recorded(ctx); err != nil {
		return err
	}
	for _, owner := range []string{"", Bob} {
		if _, err := f.layer.Operator().File(ctx, owner); err != nil {
			return fmt.Errorf("file: %w", err)
		}
	}
	return errors.Join(f.catchUp(ctx), f.orderPatterns(ctx))
}
