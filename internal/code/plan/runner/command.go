package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/plan"
)

// If no process of a command's group is left and its output does not end, a process outside the group holds it open.
// Then output is read until none comes for drainIdle, and for at most maxDrains times drainIdle.
const (
	drainIdle = time.Second
	maxDrains = 10
)

// command runs an agent's command until it ends or ctx does. In the second case it returns the cause of ctx.
func (r *run) command(ctx context.Context, a plan.Agent, out io.Writer) error {
	// The whole group is ended below, so ctx must not kill only the first process.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), a.Command[0], a.Command[1:]...)
	cmd.Dir = r.o.Root
	cmd.Env = append(os.Environ(), "KEN_AGENT="+a.Name, "KEN_PLAN="+r.o.ID)
	ownGroup(cmd)
	// With the pipe of package exec, Wait would block as long as any process holds it open.
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	cmd.Stdout, cmd.Stderr = to, to
	err = cmd.Start()
	if closed := to.Close(); err != nil || closed != nil {
		return errors.Join(err, closed)
	}
	var read atomic.Int64
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(io.MultiWriter(out, counter{&read}), from) // ends when the pipe is closed, by whichever side
	}()
	err = r.waitFor(ctx, cmd)
	r.endGroupRest(cmd.Process)
	last := read.Load()
	for range maxDrains {
		select {
		case <-copied:
			return err
		case <-time.After(drainIdle):
		}
		now := read.Load()
		if now == last {
			break
		}
		last = now
	}
	_ = from.Close()
	<-copied
	return err
}

// counter counts the bytes written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// waitFor waits for a command, and ends it when ctx is done.
func (r *run) waitFor(ctx context.Context, cmd *exec.Cmd) error {
	var exitErr error // set once it has exited
	exited := make(chan struct{})
	go func() {
		exitErr = cmd.Wait()
		close(exited)
	}()
	select {
	case <-exited:
		return describeExit(exitErr)
	case <-ctx.Done():
	}
	select {
	case <-exited: // both happened at once
		return describeExit(exitErr)
	default:
	}
	endGroup(cmd.Process, false)
	select {
	case <-exited:
	case <-time.After(r.o.Grace):
		endGroup(cmd.Process, true)
		<-exited
	}
	return context.Cause(ctx)
}

// endGroupRest ends the processes that a command left in its group. The number of the group can't be reused in the
// meantime, because process numbers repeat only after thousands of processes.
func (r *run) endGroupRest(p *os.Process) {
	if !groupLives(p) {
		return
	}
	endGroup(p, false)
	grace := time.NewTimer(r.o.Grace)
	defer grace.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for groupLives(p) {
		select {
		case <-look.C:
		case <-grace.C:
			endGroup(p, true)
			return
		}
	}
}

// describeExit returns an error that says how a command ended.
func describeExit(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("its command ended with %s", exit.ProcessState)
	}
	return err
}

// outcomeOf records the outcome of an agent that has ended.
func (r *run) outcomeOf(ctx context.Context, e finishedStep) {
	a := r.steps[e.step].Agent
	err := e.err
	if err == nil {
		err = r.missing(a)
	}
	switch {
	case err == nil:
		r.finish(e.step, Succeeded, "")
		for _, k := range r.after[e.step] {
			if n := &r.nodes[k]; n.selected {
				if n.waitingFor--; n.waitingFor == 0 {
					at, _ := slices.BinarySearch(r.ready, k)
					r.ready = slices.Insert(r.ready, at, k)
				}
			}
		}
	case e.err != nil && ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())):
		reason := "the run was stopped while it worked"
		if r.stopReason != "" {
			reason = r.stopReason
		}
		r.finish(e.step, Stopped, reason)
	default:
		clean, _ := guardrail.Redact(err.Error())
		r.finish(e.step, Failed, clean)
		r.skip(e.step)
		if r.o.FailFast && r.stopReason == "" {
			r.stopReason = "stopped because " + a.Name + " failed"
			r.stop(errStopped)
		}
	}
}

// errStopped is the cause of a context that was cancelled because an agent failed.
var errStopped = errors.New("stopped")

// skip marks the agents that need the work of a step as skipped.
func (r *run) skip(step int) {
	for _, k := range r.after[step] {
		if n := &r.nodes[k]; n.selected && n.State == "" {
			n := &r.nodes[step]
			var token plan.Token
			for _, need := range r.steps[k].Needs {
				if need.From == n.Agent {
					token = need.Token
					break
				}
			}
			became := "failed"
			if n.State == Skipped {
				became = "was skipped"
			}
			r.finish(k, Skipped, fmt.Sprintf("needs %s of %s, which %s", token, n.Agent, became))
			r.skip(k)
		}
	}
}

// missing returns an error that names the files that an agent should have produced and that do not exist.
func (r *run) missing(a plan.Agent) error {
	var errs []error
	for _, t := range a.Produces {
		if t.Kind != plan.File {
			continue
		}
		switch _, err := r.files.Stat(t.Name); {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("its command succeeded, but %s is not there", t))
		case err != nil:
			errs = append(errs, fmt.Errorf("its command succeeded, but %s can't be used: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// finish records the end of an agent.
func (r *run) finish(step int, s State, reason string) {
	n := &r.nodes[step]
	ran := n.State == Running
	n.State, n.Reason = s, reason
	if ran {
		n.Ended, n.Log = r.o.Now(), r.store.log(n.Agent)
	}
	r.done++
	if s != Kept {
		r.store.remember(r.steps[step].Agent, &n.Outcome)
	}
	r.notify(n)
}

func (r *run) notify(n *node) {
	e := Event{Time: r.o.Now(), Agent: n.Agent, Stage: n.Stage, State: n.State, Reason: n.Reason, Log: n.Log, Done: r.done, Total: r.total}
	if !n.Ended.IsZero() {
		e.Took = n.Ended.Sub(n.Started)
	}
	r.o.Progress(e)
}

// Limits for an agent's stored output, in bytes: logHead from its start, logTail from its end. chunk is the amount that
// is searched for secrets at a time.
const (
	logHead = 4 << 20
	logTail = 1 << 20
	chunk   = 64 << 10
)

// logFile is an agent's output on disk. A nil logFile stores nothing.
type logFile struct {
	file  *os.File
	held  []byte // part of the head that is not written yet
	room  int    // bytes left in the head
	tail  []byte // output after the head: at least its last logTail bytes
	after int    // number of bytes after the head
}

func newLog(f *os.File) *logFile { return &logFile{file: f, room: logHead} }

func (l *logFile) write(p []byte) error {
	if l == nil {
		return nil
	}
	n := min(len(p), l.room)
	l.held = append(l.held, p[:n]...)
	l.room -= n
	var err error
	if end := bytes.LastIndexByte(l.held, '\n') + 1; len(l.held) >= chunk && end > 0 || len(l.held) >= 2*chunk {
		if end == 0 {
			end = len(l.held)
		}
		err = l.writeCleaned(l.held[:end])
		l.held = append(l.held[:0], l.held[end:]...)
	}
	l.after += len(p) - n
	l.tail = append(l.tail, p[n:]...)
	if spare := len(l.tail) - logTail; spare > logTail {
		l.tail = append(l.tail[:0], l.tail[spare:]...)
	}
	return err
}

// writeCleaned writes text with secrets redacted.
func (l *logFile) writeCleaned(text []byte) error {
	clean, _ := guardrail.Redact(string(text))
	_, err := l.file.WriteString(clean)
	return err
}

// close writes the remaining output and closes the file.
func (l *logFile) close() error {
	if l == nil {
		return nil
	}
	var err error
	if left := l.after - logTail; left > 0 { // skip the middle, up to the end of a line
		tail := l.tail[len(l.tail)-logTail:]
		_, whole, ok := bytes.Cut(tail, []byte{'\n'})
		if !ok {
			whole = tail
		}
		err = l.writeCleaned(fmt.Appendf(l.held, "\n… %d bytes are left out here …\n", l.after-len(whole)))
		err = errors.Join(err, l.writeCleaned(whole))
	} else {
		err = l.writeCleaned(append(l.held, l.tail...))
	}
	return errors.Join(err, l.file.Close())
}
