package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// childShelf moves keys about without end: each update takes one away, adds one
// and counts itself, and is printed after it was acknowledged.
func childShelf() {
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for {
		var n int
		err := s.Shelf().Update(context.Background(), func(tx store.ShelfTx) error {
			_, _ = fmt.Sscan(string(tx.Get("n")), &n)
			n++
			for key := range tx.Scan("at/") {
				if err := tx.Delete(key); err != nil {
					return err
				}
				break
			}
			if err := tx.Put(fmt.Sprintf("at/%d", n), []byte(strings.Repeat("x", n%5000))); err != nil {
				return err
			}
			return tx.Put("n", fmt.Append(nil, n))
		})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// An update that was acknowledged survives a kill, and one that was not is there
// whole or not at all.
func TestKillNineLeavesNoHalfUpdateOnTheShelf(t *testing.T) {
	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 1))
	dir := t.TempDir()
	acked := 0
	for range crashes {
		cmd := child(t, "shelf", dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for left := 1 + rng.IntN(60); lines.Scan(); left-- {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
				t.Fatalf("the child said %q", lines.Text())
			}
			if left == 0 {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // killed
		s, err := bolt.Open(context.Background(), dir, bolt.Options{})
		must(t, err)
		held := shelfOf(t, s.Shelf())
		closeStore(t, s)
		var n int
		if _, err := fmt.Sscan(held["n"], &n); err != nil || n < acked || n > acked+1 {
			t.Fatalf("%d updates were acknowledged, and the shelf counts %q", acked, held["n"])
		}
		value, there := held[fmt.Sprintf("at/%d", n)]
		if !there || len(value) != n%5000 || len(held) != 2 {
			t.Fatalf("update %d is there in part: %d keys, value of %d bytes", n, len(held), len(value))
		}
		acked = n
	}
	t.Logf("%d updates over %d kills", acked, crashes)
}
