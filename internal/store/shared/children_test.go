package shared_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// children holds the functions that the test binary can run in a child process, by role.
// They run until standard input is closed.
var children = map[string]func(){
	"holder": func() { beChild(func(context.Context, store.Engine) error { return nil }) },
	"writer": func() { beChild(keepWriting) },
	"update": func() { beChild(updateAndStay) },
	"mover":  moveForEver,
}

// say prints a line for the parent process.
func say(format string, args ...any) {
	sayMu.Lock()
	defer sayMu.Unlock()
	fmt.Printf(format+"\n", args...)
}

var sayMu sync.Mutex

func beChild(do func(context.Context, store.Engine) error) {
	fail := func(err error) {
		say("error %v", err)
		os.Exit(1)
	}
	w := shared.NewOwners(os.Getenv("KEN_TEST_DIR"), 0, shared.Options{Store: bolt.Options{Embedder: embedtest.Bag{}}})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).WriteTo(io.Discard)
		stop()
	}()
	s, release, err := w.Get(ctx, "")
	if err != nil {
		fail(err)
	}
	say("ready %v", w.Holds(""))
	if err := do(ctx, s); err != nil && ctx.Err() == nil {
		fail(err)
	}
	<-ctx.Done()
	release()
	if err := w.Close(); err != nil {
		fail(err)
	}
	say("done")
}

// keepWriting writes in every way, without end. After each acknowledged write it prints
// the write, with its start and end time.
func keepWriting(ctx context.Context, s store.Engine) error {
	name := os.Getenv("KEN_TEST_NAME")
	var id string
	for i := 0; ctx.Err() == nil; i++ {
		var what string
		var err error
		start := time.Now()
		switch i % 4 {
		case 0:
			word := fmt.Sprintf("%sn%d", name, i)
			c, _ := ken.NewClaim("the acknowledged word is "+word, ken.FromAgentAssertion("writer", ""))
			id, err = s.WriteClaim(ctx, c)
			what = fmt.Sprintf("written %s %s", id, word)
		case 1:
			err = s.Reinforce(ctx, id, []ken.Evidence{ken.FromAgentAssertion("again", "")}, ken.Actor{})
			what = fmt.Sprintf("reinforced %s -", id)
		case 2:
			err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified})
			what = fmt.Sprintf("verified %s -", id)
		default:
			err = s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
				n := 0
				_, _ = fmt.Sscan(string(tx.Get("count/"+name)), &n)
				return tx.Put("count/"+name, fmt.Append(nil, n+1))
			})
			what = fmt.Sprintf("counted %s -", name)
		}
		if err != nil {
			return err
		}
		say("%s %d %d", what, start.UnixNano(), time.Now().UnixNano())
	}
	return nil
}

// updateAndStay starts an update and does not return from its function.
func updateAndStay(ctx context.Context, s store.Engine) error {
	return s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		if err := tx.Put("half", []byte("done")); err != nil {
			return err
		}
		say("within")
		<-ctx.Done()
		return ctx.Err()
	})
}

// stuck is a log whose PutSnapshot never returns.
type stuck struct{ *logtest.Memory }

func (stuck) PutSnapshot(context.Context, string, uint64, io.Reader) error {
	say("ready")
	select {}
}

// moveForEver starts a move that never ends. The test kills it while it has copies of a store.
func moveForEver() {
	w := shared.NewOwners(os.Getenv("KEN_TEST_DIR"), 0, shared.Options{})
	_, err := w.Move(context.Background(), "ada", "here", shared.Place{Name: "nats://a:4222", Log: stuck{logtest.NewMemory()}}, false)
	say("error %v", err)
}
