package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// DefaultHub is the address that models are downloaded from.
const DefaultHub = "https://huggingface.co"

// Options names the source and the target of an installation.
type Options struct {
	Dir  string // the folder of all installed models
	Hub  string // address of the hub or of a mirror with the same paths; "" means DefaultHub
	From string // a folder with the model's files, used instead of the hub; "" for none
	// Progress is called with the number of bytes present and the model's total. May be nil.
	Progress func(done, total int64)

	client *http.Client                                         // nil means a client with usual limits
	writer func(f *os.File) io.Writer                           // how files are written; nil means directly
	wait   func(ctx context.Context, d time.Duration) (ok bool) // waits d and reports false if ctx ended; nil means a timer
}

// Result describes an installed model.
type Result struct {
	Model   string `json:"model"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Present bool   `json:"present"` // it was already installed
}

// Path returns the folder of an installed model in dir, and false if it is not complete: a file
// is missing or has another size. It does not read the files.
func (m *Model) Path(dir string) (path string, ok bool) {
	path = filepath.Join(dir, m.Name)
	return path, m.whole(path)
}

func (m *Model) whole(dir string) bool {
	for _, f := range m.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
			return false
		}
	}
	return true
}

// Install installs a model, unless it is installed with the right hashes. An invalid folder
// with its name is replaced. Files of an interrupted download are reused.
//
// Errors: ErrUnavailable for a hub that does not respond and a full disk, ErrCorrupt for a file
// with a wrong hash, ErrInvalid for a folder From that lacks a file, ErrHeld if another process
// is still installing the same model when ctx ends, and ctx's own.
func (m *Model) Install(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	out := Result{Model: m.Name, Path: filepath.Join(o.Dir, m.Name), Bytes: m.Bytes()}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return out, m.failed("make the folder of embedders", err)
	}
	release, err := m.lock(ctx, o.Dir)
	if err != nil {
		return out, err
	}
	defer release()
	if m.verify(ctx, out.Path) == nil {
		out.Present = true
		return out, ctx.Err()
	}
	part := filepath.Join(o.Dir, "."+m.Name+".part")
	var done int64
	for _, f := range m.Files {
		progress := func(n int64) { o.Progress(done+n, out.Bytes) }
		if err := m.get(ctx, &o, part, f, progress); err != nil {
			return out, err
		}
		done += f.Size
	}
	return out, m.publish(part, out.Path)
}

func (o Options) withDefaults() Options {
	o.Hub = cmp.Or(o.Hub, DefaultHub)
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.client == nil {
		o.client = newClient()
	}
	if o.writer == nil {
		o.writer = func(f *os.File) io.Writer { return f }
	}
	if o.wait == nil {
		o.wait = func(ctx context.Context, d time.Duration) bool {
			select {
			case <-time.After(d):
				return true
			case <-ctx.Done():
				return false
			}
		}
	}
	return o
}

// lock waits until no other process installs this model.
func (m *Model) lock(ctx context.Context, dir string) (release func(), err error) {
	l := flock.New(filepath.Join(dir, "."+m.Name+".lock"))
	ok, err := l.TryLockContext(ctx, 50*time.Millisecond)
	if ok {
		return func() { _ = l.Close() }, nil
	}
	_ = l.Close()
	if ctx.Err() != nil {
		return nil, &ken.Error{Code: ken.CodeHeld, Field: m.Name, Msg: "another process is installing this embedder", Err: ctx.Err(), Try: "Try again when it is done."}
	}
	return nil, m.failed("lock the folder of embedders", err)
}

// verify compares the files of a folder with the list.
func (m *Model) verify(ctx context.Context, dir string) error {
	if !m.whole(dir) {
		return fs.ErrNotExist
	}
	for _, f := range m.Files {
		if err := f.verify(ctx, filepath.Join(dir, filepath.FromSlash(f.Path))); err != nil {
			return err
		}
	}
	return nil
}

// verify compares the hash of a file.
func (f *File) verify(ctx context.Context, path string) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, stopping{ctx, r}); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return &ken.Error{Code: ken.CodeCorrupt, Field: f.Path, Msg: "its SHA-256 is " + got + " instead of " + f.SHA256}
	}
	return nil
}

// open opens a file for writing, with its existing content.
func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }

// stopping is a reader that returns an error when a context ends.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// get puts one file into the folder part, complete and with the right hash.
func (m *Model) get(ctx context.Context, o *Options, part string, f File, progress func(n int64)) error {
	path := filepath.Join(part, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return m.failed("make the folder of the embedder", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() == f.Size && f.verify(ctx, path) == nil {
		progress(f.Size)
		return nil
	}
	fetch := m.download
	if o.From != "" {
		fetch = m.copy
	}
	if err := fetch(ctx, o, path, f, progress); err != nil {
		return err
	}
	err := f.verify(ctx, path)
	if errors.Is(err, ken.ErrCorrupt) {
		_ = os.Remove(path) // otherwise every later call would resume it
		where := "The mirror may be stale or have been tampered with: try another one with --mirror, or the hub itself."
		if o.From != "" {
			where = "That folder holds another version of the model: give one of " + m.Repository + " at revision " + m.Revision + "."
		}
		return &ken.Error{Code: ken.CodeCorrupt, Field: f.Path, Msg: "this is not the file that was expected", Err: err, Try: where}
	}
	return err
}

// copy copies a file from the folder o.From.
func (m *Model) copy(ctx context.Context, o *Options, path string, f File, progress func(n int64)) error {
	from := filepath.Join(o.From, filepath.FromSlash(f.Path))
	r, err := os.Open(from)
	if err != nil {
		return m.lacks(o.From, f, err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
		if err == nil {
			err = fmt.Errorf("%s has %d bytes instead of %d", f.Path, info.Size(), f.Size)
		}
		return m.lacks(o.From, f, err)
	}
	w, err := open(path)
	if err != nil {
		return m.failed("write "+f.Path, err)
	}
	_, err = io.Copy(o.writer(w), &counting{r: stopping{ctx, r}, progress: progress})
	if err == nil {
		err = w.Truncate(f.Size)
	}
	return m.written(f, w, err)
}

func (m *Model) lacks(dir string, f File, err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: "--from", Msg: dir + " is no whole copy of " + m.Name + ": " + f.Path, Err: err,
		Try: "Give the folder of a snapshot of " + m.Repository + ", with config.json, tokenizer.json, modules.json and model.safetensors."}
}

// written syncs and closes a file after writing, and combines the errors.
func (m *Model) written(f File, w *os.File, err error) error {
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return m.failed("write "+f.Path, err)
	}
	return nil
}

// publish renames the folder to its final name, and replaces an invalid one.
func (m *Model) publish(part, path string) error {
	old := part + ".old"
	err := os.RemoveAll(old)
	if err == nil {
		err = os.Rename(path, old)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(part, path)
	}
	if err == nil {
		err = durable.Dir(filepath.Dir(path))
	}
	if err = errors.Join(err, os.RemoveAll(old)); err != nil {
		return m.failed("put the embedder in its place", err)
	}
	return nil
}

// failed returns an error for a failed file operation.
func (m *Model) failed(action string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	try := "Check the permissions of the folder, or set XDG_DATA_HOME to another one."
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		try = fmt.Sprintf("Make room for %d MB, or set XDG_DATA_HOME to a folder on another disk. What was downloaded is kept and used.", m.Bytes()>>20+1)
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "install " + m.Name + ": " + action, Err: err, Try: try}
}

// counting counts the bytes that were read.
type counting struct {
	r        io.Reader
	n        int64
	progress func(n int64)
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.progress(c.n)
	return n, err
}
