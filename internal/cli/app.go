// Package cli holds the parts that all commands share: the global flags, the project and
// its store, output, errors and completion. Its subfolders hold the commands.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Streams holds the input and the outputs of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App holds what every command shares: the streams and the global flags.
type App struct {
	Streams
	Dir   string // --dir
	Owner string // --owner
	JSON  bool   // --json
	Quiet bool   // --quiet

	Noticed  bool // the warning about untrusted configuration was printed
	readable bool // the user agreed that the files of this folder are read
}

// Silent returns an App for the same project that shows neither progress nor messages.
func (a *App) Silent() *App {
	return &App{Streams: Streams{In: a.In, Out: a.Out, Err: io.Discard}, Dir: a.Dir, Owner: a.Owner, Quiet: true}
}

// Logger returns a logger that prints warnings and errors to the command's standard error.
func (a *App) Logger() *slog.Logger { return slog.New(&logHandler{w: a.Err}) }

// Project returns the root of the project that the command works in.
func (a *App) Project() (string, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return "", err
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return "", UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "--dir", Msg: a.Dir + " is not a folder", Try: "Name a folder that exists."})
	}
	return repository.FindRoot(dir)
}

// Layer opens the project's layer for one command. Nothing runs in the background,
// and a store that can't be opened is an error.
func (a *App) Layer(ctx context.Context, p *Progress, change ...func(*middleware.Options)) (*middleware.Layer, error) {
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	o := middleware.Options{Root: root, Strict: true, Foreground: true, Progress: p.Update,
		Log: a.Logger()}
	for _, f := range change {
		f(&o)
	}
	if o.Config == nil {
		r, err := a.layerConfiguration()
		if err != nil {
			return nil, err
		}
		o.Config = &r.Config
	}
	return middleware.Open(ctx, o)
}

func (a *App) layerConfiguration() (*config.Resolved, error) {
	r, err := a.Configuration()
	if err == nil && !a.readable && tooManyFiles(r) != nil {
		r.Config.Repository.Index, r.Config.Middleware.Graph = false, false
	}
	return r, err
}

// ReadOnly returns a change of the options of Layer for a command that adds nothing. In a
// project without a state folder, and for an owner without a store, the layer gets an empty folder
// elsewhere, which done removes, so that the command leaves no files in the project.
func (a *App) ReadOnly() (change func(*middleware.Options), done func(), err error) {
	r, err := a.layerConfiguration()
	if err != nil {
		return nil, nil, err
	}
	done = func() {}
	if a.hasNothing(r) {
		dir, err := os.MkdirTemp("", "ken-empty-")
		if err != nil {
			return nil, nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		r.Config.Knowledge.DBPath, done = dir, func() { _ = os.RemoveAll(dir) } // the system clears that folder, too
	}
	return func(o *middleware.Options) { o.Config = &r.Config }, done, nil
}

// hasNothing reports whether there is no store that the owner can read. If others have one, it says
// which.
func (a *App) hasNothing(r *config.Resolved) bool {
	if s := r.Config.Store; s.URL != "" || s.Next != "" {
		return false
	}
	state := r.Config.State(r.Root)
	if _, err := os.Lstat(state); err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if a.Owner == "" || len(r.Config.Knowledge.Shares) > 0 {
		return false
	}
	owners, err := OwnersIn(state)
	if err != nil || len(owners) == 0 || slices.Contains(owners, a.Owner) {
		return false
	}
	a.Note(fmt.Sprintf("owner %s has no knowledge here; these have: %s", a.Owner, strings.Join(owners, ", ")))
	return true
}

// ReadStore is WithStore for a command that adds nothing: see ReadOnly.
func (a *App) ReadStore(ctx context.Context, fn func(*middleware.Layer, store.Engine) error) error {
	change, done, err := a.ReadOnly()
	if err != nil {
		return err
	}
	defer done()
	return a.WithStore(ctx, fn, change)
}

// OwnersIn lists the owners that have a store in a state folder.
// bolt.FolderName defines the folder names.
func OwnersIn(state string) ([]string, error) {
	entries, err := os.ReadDir(state)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	var owners []string
	for _, e := range entries {
		if owner, err := url.PathUnescape(e.Name()); err == nil && bolt.FolderName(owner) == e.Name() && e.IsDir() {
			if files, err := os.ReadDir(filepath.Join(state, e.Name())); err == nil && e.Name() == "events" && !slices.ContainsFunc(files, func(f os.DirEntry) bool { return filepath.Ext(f.Name()) == ".db" }) {
				continue // the event log's default folder
			}
			owners = append(owners, owner)
		}
	}
	return owners, nil
}

// WithStore runs fn on the owner's store.
func (a *App) WithStore(ctx context.Context, fn func(*middleware.Layer, store.Engine) error, change ...func(*middleware.Options)) error {
	return a.WithLayer(ctx, func(l *middleware.Layer, p *Progress) error {
		s, release, err := l.Store(ctx, a.Owner)
		if err != nil {
			return err
		}
		defer release()
		p.Done()
		return fn(l, s)
	}, change...)
}

// WithLayer runs fn on the project's layer, and closes it.
func (a *App) WithLayer(ctx context.Context, fn func(*middleware.Layer, *Progress) error, change ...func(*middleware.Options)) error {
	p := a.Progress()
	defer p.Done()
	l, err := a.Layer(ctx, p, change...)
	if err != nil {
		return err
	}
	return errors.Join(fn(l, p), l.Close())
}

// PrintJSON writes v as indented JSON. It does not escape characters that only HTML
// requires.
func (a *App) PrintJSON(v any) error { return WriteJSON(a.Out, v) }

// WriteJSON is PrintJSON for any output.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Refresh updates the layer. It returns only the error of ctx and prints any other,
// because a turn works without an update. After a change it says which files can't be searched
// because they are not UTF-8.
func (a *App) Refresh(ctx context.Context, l *middleware.Layer, p *Progress) error {
	report, err := l.Refresh(ctx, a.Owner)
	p.Done()
	if n := report.Skipped[repository.ReasonNotUTF8]; n > 0 && report.Changed > 0 && !a.Quiet {
		fmt.Fprintf(a.Err, "ken: skipped %d: %s\n", n, repository.ReasonNotUTF8)
	}
	if err != nil && ctx.Err() == nil {
		a.Report(err)
	}
	return ctx.Err()
}

// logHandler prints log records in the form of the command's own errors. It prints the
// attributes cause and try, the only ones that the layer uses. It prints a record that reads like the
// one before once.
type logHandler struct {
	w io.Writer

	mu   sync.Mutex
	last string
}

// Enabled reports whether a record is a warning or an error.
func (*logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints a record.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	line, try := "ken: "+r.Message, ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "try":
			try = a.Value.String()
		case "cause":
			line += ": " + a.Value.String()
		}
		return true
	})
	if try != "" {
		line += "\nTry: " + try
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if line == h.last {
		return nil
	}
	h.last = line
	_, err := fmt.Fprintln(h.w, line)
	return err
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
