//go:build unix

package nodes

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// A register is a value of an owner's shelf, which every node reads and writes while the
// claims are written. The history of all calls must be one that a single register on one
// machine could have, whatever failed meanwhile.

const registerKey = "register"

// now is the machine's monotonic clock, which all processes share, in nanoseconds.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// useRegister reads and writes an owner's register, and says when each call began and ended.
func useRegister(ctx context.Context, all *shared.Owners, owner, name string) {
	tick := time.NewTicker(150 * time.Millisecond)
	for n := 0; ; n++ {
		<-tick.C
		id, value := fmt.Sprint(name, "/", n), ""
		put := n%2 == 0
		if put {
			value = id
		}
		say("begin %s %s %d %s", owner, id, now(), value)
		got, err := callRegister(ctx, all, owner, value)
		if err != nil {
			continue // it may be done, or be done later
		}
		say("end %s %s %d %s", owner, id, now(), got)
	}
}

// callRegister puts a value, or reads it if it is "".
func callRegister(ctx context.Context, all *shared.Owners, owner, value string) (got string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	s, release, err := all.Get(ctx, owner)
	if err != nil {
		return "", err
	}
	defer release()
	if value == "" {
		err = s.Shelf().View(ctx, func(r store.ShelfReader) error { got = string(r.Get(registerKey)); return nil })
		return got, err
	}
	return "", s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put(registerKey, []byte(value)) })
}

// call is one of a register's calls.
type call struct {
	owner, put string // put is "" for a read
	got        string
	begun, end int64 // end is 0 while it is not known how it ended
	client     int
}

// hearCall notes what a node says of a call. c.mu is held.
func (c *crew) hearCall(kind, rest string) {
	f := strings.Split(rest, " ")
	at, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		c.faults = append(c.faults, "a node says "+rest)
		return
	}
	if kind == "begin" {
		name, _, _ := strings.Cut(f[1], "/")
		client, known := c.clients[name]
		if !known {
			client = len(c.clients)
			c.clients[name] = client
		}
		c.calls[f[0]+f[1]] = &call{owner: f[0], put: f[3], begun: at, client: client}
		return
	}
	if it := c.calls[f[0]+f[1]]; it != nil {
		it.got, it.end = f[3], at
	}
}

// register is what porcupine compares a history with.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(*call), output.(*call)
		if in.put != "" {
			return true, in.put
		}
		return out.end == 0 || out.got == state.(string), state
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", *input.(*call)) },
}

// checkRegisters checks the calls of each owner.
func (c *crew) checkRegisters(t *testing.T) {
	history := map[string][]porcupine.Operation{}
	unknown := 0
	for _, it := range c.calls {
		end := it.end
		if end == 0 {
			if unknown++; it.put == "" {
				continue // a read that nobody heard the answer of says nothing
			}
			end = 1<<62 - 1
		}
		history[it.owner] = append(history[it.owner], porcupine.Operation{ClientId: it.client, Input: it, Output: it, Call: it.begun, Return: end})
	}
	for owner, all := range history {
		switch porcupine.CheckOperationsTimeout(register, all, time.Minute) {
		case porcupine.Illegal:
			t.Errorf("%s: no single register could have answered these %d calls", owner, len(all))
		case porcupine.Unknown:
			t.Logf("%s: a minute was too short to check %d calls", owner, len(all))
		}
	}
	t.Logf("%d calls of registers, of %d it is not known how they ended", len(c.calls), unknown)
}

// The check finds a node that answers what is old.
func TestAnOldAnswerIsFound(t *testing.T) {
	op := func(it call) porcupine.Operation {
		return porcupine.Operation{ClientId: it.client, Input: &it, Output: &it, Call: it.begun, Return: it.end}
	}
	history := []porcupine.Operation{
		op(call{put: "one", begun: 1, end: 2}), op(call{put: "two", begun: 3, end: 4, client: 1}), op(call{got: "two", begun: 5, end: 6}),
	}
	if !porcupine.CheckOperations(register, history) {
		t.Error("a history of one register is refused")
	}
	history[2] = op(call{got: "one", begun: 5, end: 6})
	if porcupine.CheckOperations(register, history) {
		t.Error("an old answer is not found")
	}
}
