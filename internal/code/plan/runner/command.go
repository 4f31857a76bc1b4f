package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/code/plan"
)

// When nobody of a command's process group is left to write and its output does not end,
// somebody who left the group has it: it is read until nothing comes for drain, and for
// drains times as long at most.
const (
	drain  = time.Second
	drains = 10
)

// command runs an agent's command until it ends or ctx does, whose cause it returns
// then.
func (r *run) command(ctx context.Context, a plan.Agent, out io.Writer) error {
	// The group is ended here, so that ctx must not kill its first process alone.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), a.Command[0], a.Command[1:]...)
	cmd.Dir = r.o.Root
	cmd.Env = append(os.Environ(), "KEN_AGENT="+a.Name, "KEN_PLAN="+r.o.ID)
	ownGroup(cmd)
	// A pipe of our own: that of package exec is waited for as long as any process has it.
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
		_, _ = io.Copy(io.MultiWriter(out, counter{&read}), from) // ends with the pipe, whatever ends that
	}()
	err = r.await(ctx, cmd)
	r.endRest(cmd.Process)
	last := read.Load()
	for range drains {
		select {
		case <-copied:
			return err
		case <-time.After(drain):
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

// counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// await waits for a command, and ends it when ctx is done.
func (r *run) await(ctx context.Context, cmd *exec.Cmd) error {
	var how error // set when it has exited
	exited := make(chan struct{})
	go func() {
		how = cmd.Wait()
		close(exited)
	}()
	select {
	case <-exited:
		return explain(how)
	case <-ctx.Done():
	}
	select {
	case <-exited: // both at once
		return explain(how)
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

// endRest ends what a command has left in its group. The group's number can't be
// another's meanwhile: numbers come round after thousands of processes.
func (r *run) endRest(p *os.Process) {
	if !groupLives(p) {
		return
	}
	endGroup(p, false)
	patience := time.NewTimer(r.o.Grace)
	defer patience.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for groupLives(p) {
		select {
		case <-look.C:
		case <-patience.C:
			endGroup(p, true)
			return
		}
	}
}

// explain says how a command ended.
func explain(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("its command ended with %s", exit.ProcessState)
	}
	return err
}
