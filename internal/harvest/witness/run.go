package witness

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
)

// Command is what is run.
type Command struct {
	Args []string // the program first; not empty
	Dir  string   // to run it in; "" is the current one

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Direct gives the command the streams themselves, so that it sees a terminal where
	// there is one. Its output is not looked at then.
	Direct bool

	Signals <-chan os.Signal // that are passed on to it; nil passes none: see Signals
	Now     func() time.Time // default time.Now
}

// Result is how a command ended.
type Result struct {
	Args    []string // as they were given
	Started time.Time
	Took    time.Duration

	Exit   int       // as shells count: 127 not found, 126 not to be started, 128 and the signal's number
	Signal os.Signal // that ended it; nil for none
	// Interrupted is the first signal that came from outside and asks to end; nil for
	// none. How the command ended after that says nothing of it.
	Interrupted os.Signal
	Err         error // it could not be started

	Tests    []outcome.Test // what its output says of tests
	Complete bool           // these are all
}

// Exit statuses of what could not be started.
const (
	exitNotFound   = 127
	exitNotStarted = 126
	exitSignalled  = 128
)

// Run runs a command to its end, however long that takes.
func Run(c Command) Result {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	r := Result{Args: slices.Clone(c.Args), Started: now(), Complete: true}
	cmd := exec.CommandContext(context.Background(), c.Args[0], c.Args[1:]...) // it ends when it ends, or by a signal
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	out, errs := &tee{to: c.Stdout}, &tee{to: c.Stderr}
	if !c.Direct {
		if one(c.Stdout, c.Stderr) { // by one pipe, lines stay in their order
			errs = out
		}
		r.Err = errors.Join(out.open(), errs.open())
		cmd.Stdout, cmd.Stderr = out.in, errs.in
	}
	if r.Err == nil {
		r.Err = cmd.Start()
	}
	out.began(r.Err == nil)
	errs.began(r.Err == nil)
	if r.Err != nil {
		r.Took, r.Exit = now().Sub(r.Started), exitNotStarted
		if errors.Is(r.Err, exec.ErrNotFound) || errors.Is(r.Err, fs.ErrNotExist) {
			r.Exit = exitNotFound
		}
		return r
	}
	stop := forward(cmd.Process, c.Signals, &r)
	_ = cmd.Wait() // the state says it
	stop()
	r.Took = now().Sub(r.Started)
	out.drain()
	errs.drain()
	r.Exit = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal, r.Exit = ws.Signal(), exitSignalled+int(ws.Signal())
	}
	r.Tests, r.Complete = both(out, errs)
	return r
}

// forward passes signals on until stop is called.
func forward(p *os.Process, signals <-chan os.Signal, r *Result) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case sig := <-signals:
				if ends(sig) && r.Interrupted == nil {
					r.Interrupted = sig
				}
				if !heard(sig) {
					_ = p.Signal(sig) // it may be over
				}
			}
		}
	}()
	return func() { close(over); <-done }
}

// both are the results of two outputs. What only the second tells of comes behind.
func both(out, errs *tee) (all []outcome.Test, complete bool) {
	all, first := out.stream.Tests()
	if out == errs {
		return all, first
	}
	more, second := errs.stream.Tests()
	for _, t := range more {
		if !slices.ContainsFunc(all, func(o outcome.Test) bool { return o.Name == t.Name }) {
			all = append(all, t)
		}
	}
	return all, first && second
}

// one reports whether two streams are the same.
func one(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	x, err := f.Stat()
	y, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}
