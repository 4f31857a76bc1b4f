package bolt

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// While the disk hangs, reads go on, the store says so, writes end with an error, and what
// was written when it answers is there once.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		write := func(text string) error {
			_, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
			return err
		}
		find := func(word string) int {
			got, err := s.Query(t.Context(), ken.Query{Question: word})
			if err != nil {
				t.Error(err)
			}
			return len(got)
		}
		if err := write("the port is 8080"); err != nil {
			t.Fatal(err)
		}
		answers := make(chan struct{})
		s.beforeCommit = func() { <-answers }
		first := make(chan error, 1)
		go func() { first <- write("the host is example") }()
		time.Sleep(stallTold + time.Second)
		if faults, _ := s.Faults(t.Context()); len(faults) != 1 || faults[0].Name != store.FaultDisk {
			t.Errorf("faults %v", faults)
		}
		if find("port") != 1 {
			t.Error("nothing is read while the disk hangs")
		}
		select {
		case err := <-first:
			t.Errorf("it ended too early: %v", err)
		default:
		}
		time.Sleep(stallEnds)
		for what, err := range map[string]error{"first": <-first, "next": write("the user is ada"),
			"shelf": s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", nil) })} {
			if !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		close(answers)
		synctest.Wait()
		if faults, _ := s.Faults(context.Background()); len(faults) != 0 {
			t.Errorf("it answers again: %v", faults)
		}
		if err := write("the flag is red"); err != nil {
			t.Error(err)
		}
		if find("host") != 1 || find("flag") != 1 || find("ada") > 1 {
			t.Error("what was written is not there once")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
