package consoletest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken/config"
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
