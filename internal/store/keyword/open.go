package keyword

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
)

// Open opens the index in dir, or creates one when there is none. Errors:
// ErrHeld when another process has it open; ErrRefused when it belongs to
// another store; ErrCorrupt when it can't be read, or is of another format, and
// should be removed and built anew. Damage to the newest files may also show as
// an older state with its older watermark. Open does not wait longer than
// LockTimeout for a lock, nor without end for a disk.
func Open(dir string, o Options) (*Index, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	o = o.withDefaults()
	x := &Index{dir: dir, opts: o, queue: index.NewAnalysisQueue(1),
		slots: make(chan struct{}, o.MaxConcurrent), scrubbing: make(chan struct{}, 1)}
	isNew := !exists(filepath.Join(dir, directoryFile))
	if !isNew {
		err = verifyDirectory(filepath.Join(dir, directoryFile), o.LockTimeout)
	}
	if err == nil {
		err = x.openEngine()
	}
	if err != nil {
		x.queue.Close()
		return nil, openError(dir, err)
	}
	faults.Store(dir, &x.fault)
	if isNew {
		err = x.create()
	} else {
		err = x.load()
	}
	if err != nil {
		faults.Delete(dir)
		_ = closeBroken(x.engine)
		x.queue.Close()
		return nil, openError(dir, err)
	}
	return x, nil
}

// openEngine opens the files. A damaged file may make the engine panic, or
// fault when a mapped file is shorter than it says; both are errors here.
func (x *Index) openEngine() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	made, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   x.dir,
		"unsafe_batch":           true, // the log is the truth
		"bolt_timeout":           x.opts.LockTimeout.String(),
		"asyncErrorCallbackName": faultCallback,
		"eventCallbackName":      faultCallback,
	}, x.queue)
	if err != nil {
		return err
	}
	engine := made.(*scorch.Scorch)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the index's files made the engine panic: %v", p)
			_ = closeBroken(engine)
		}
	}()
	if err := engine.Open(); err != nil {
		return err
	}
	x.engine = engine
	return nil
}

// create stamps a new index and waits until that is on disk, so that from then
// on an index without a stamp is a damaged one.
func (x *Index) create() error {
	b := index.NewBatch()
	b.SetInternal(stampKey, []byte(stamp(x.opts.StoreID)))
	b.SetInternal(stateKey, state{}.encode())
	if err := x.engine.Batch(b); err != nil {
		return err
	}
	x.begin(state{})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return x.flush(ctx, x.engine)
}

// begin makes s the state of the engine and of the index.
func (x *Index) begin(s state) {
	x.applied.Store(&s)
	x.tails.Store(&tails{filling: newTail(s)})
}

func (x *Index) load() error {
	r, err := x.engine.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := r.GetInternal(stampKey)
	if err != nil {
		return err
	}
	switch {
	case got == nil:
		return errors.New("no stamp: the index was never finished, or its snapshot can't be read")
	case !strings.HasPrefix(string(got), format+"\x00"):
		return fmt.Errorf("its format is %q, not %q", strings.Split(string(got), "\x00")[0], format)
	case string(got) != stamp(x.opts.StoreID):
		return &ken.Error{Code: ken.CodeRefused, Field: x.dir, Msg: "the keyword index belongs to another store",
			Try: "Remove the folder; it will be built anew."}
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	x.begin(s)
	return verifySegments(r)
}

// closeBroken closes what can still be closed: the engine may have stopped
// half-way, and its own Close may panic too.
func closeBroken(engine *scorch.Scorch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("close: %v", p)
		}
	}()
	return engine.Close()
}

func openError(dir string, err error) error {
	var known *ken.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, bolterrors.ErrTimeout):
		return &ken.Error{Code: ken.CodeHeld, Field: dir, Msg: "another process has the keyword index open", Err: err}
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("open keyword index: %w", err)
	}
	return &ken.Error{Code: ken.CodeCorrupt, Field: dir, Msg: "can't read the keyword index",
		Try: "Remove the folder; it will be built anew.", Err: err}
}
