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

// A register is a value in an owner's shelf, which every node reads and writes while claims are
// written. Whatever fails meanwhile, the history of all calls must be linearizable: a single
// register on one machine could have it.

const registerKey = "register"

// now returns the time of the machine's monotonic clock, which all processes share, in nanoseconds.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// useRegister reads and writes an owner's register, and prints when each call began and ended.
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
			continue // it may have taken effect, or do so later
		}
		say("end %s %s %d %s", owner, id, now(), got)
	}
}

// callRegister writes a value to the register, or reads the register if value is "".
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

// call is a read or a write of a register.
type call struct {
	owner, put string // put is "" for a read
	got        string
	begun, end int64 // times of now; end is 0 if the result is unknown
	client     int
}

// hearCall records the line that a node prints about a call. The caller holds c.mu.
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

// register is porcupine's model of a register.
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
	byOwner := map[string][]*call{}
	for _, it := range c.calls {
		byOwner[it.owner] = append(byOwner[it.owner], it)
	}
	unknown := 0
	for owner, calls := range byOwner {
		history, open := historyOf(calls)
		unknown += open
		switch porcupine.CheckOperationsTimeout(register, history, time.Minute) {
		case porcupine.Illegal:
			t.Errorf("%s: no single register could have answered these %d calls", owner, len(history))
		case porcupine.Unknown:
			t.Errorf("%s: a minute was too short to check %d calls", owner, len(history))
		}
	}
	t.Logf("%d calls of registers, of %d it is not known how they ended", len(c.calls), unknown)
}

// historyOf returns a history for porcupine, and the number of calls without an answer. Every call in
// the history has an end, because each call without one would double the number of orders to try. A
// put without an answer ends with the first read of its value, because it was done by then. A put
// whose value was never read may have been done after all other calls, so it is left out. A read
// without an answer is left out, too.
func historyOf(calls []*call) (history []porcupine.Operation, unknown int) {
	seen := map[string]int64{} // when the first read of a value ended
	for _, it := range calls {
		if it.put == "" && it.end != 0 {
			if at, ok := seen[it.got]; !ok || it.end < at {
				seen[it.got] = it.end
			}
		}
	}
	for _, it := range calls {
		end := it.end
		if end == 0 {
			unknown++
			at, ok := seen[it.put]
			if it.put == "" || !ok {
				continue
			}
			end = max(at, it.begun)
		}
		history = append(history, porcupine.Operation{ClientId: it.client, Input: it, Output: it, Call: it.begun, Return: end})
	}
	return history, unknown
}

// TestAnOldAnswerIsFound checks that the check detects a node that returns an old value.
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

// TestAPutWithoutAnAnswer checks that a put without an answer counts as done only if a read has
// returned its value.
func TestAPutWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []*call
		good  bool
	}{
		{"it was done late", []*call{{put: "one", begun: 1}, {put: "two", begun: 2, end: 3, client: 1}, {got: "two", begun: 4, end: 5, client: 1}, {got: "one", begun: 6, end: 7, client: 1}}, true},
		{"it was never done", []*call{{put: "one", begun: 1}, {put: "two", begun: 2, end: 3, client: 1}, {got: "two", begun: 4, end: 5, client: 1}}, true},
		{"it was done twice", []*call{{put: "one", begun: 1}, {got: "one", begun: 2, end: 3, client: 1}, {put: "two", begun: 4, end: 5, client: 1}, {got: "one", begun: 6, end: 7, client: 1}}, false},
		{"it was read before it began", []*call{{got: "one", begun: 1, end: 2, client: 1}, {put: "one", begun: 3}}, false},
	} {
		history, _ := historyOf(tt.calls)
		if good := porcupine.CheckOperations(register, history); good != tt.good {
			t.Errorf("%s: the history is good: %v", tt.name, good)
		}
	}
}
