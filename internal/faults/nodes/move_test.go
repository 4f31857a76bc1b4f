//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
)

// beMover is the main function of a process that moves every owner from one engine to another.
func beMover() {
	ctx := context.Background()
	from, to := os.Getenv("KEN_MOVE_FROM"), os.Getenv("KEN_MOVE_TO")
	err := func() error {
		log, err := openLog(ctx, from)
		if err != nil {
			return err
		}
		there, err := openLog(ctx, to)
		if err != nil {
			return err
		}
		node, err := shared.StartNode(ctx, shared.NodeOptions{Log: log, ID: os.Getenv("KEN_MOVE"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp(os.Getenv("KEN_MOVE_DIR"), "mover")
		if err != nil {
			return err
		}
		all := shared.NewOwners(dir, 0, shared.Options{Node: node, Wait: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
		for i := range owners {
			got, failed := all.Move(ctx, fmt.Sprint("o", i), from, shared.Place{Name: to, Log: there}, false)
			fmt.Printf("%+v %v\n", got, failed)
			err = errors.Join(err, failed)
		}
		return errors.Join(err, all.Close(), node.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// perMove is how often a move is killed at most.
const perMove = 5

// TestFaultsMove moves owners between two engines while two nodes write. It kills the moving process
// repeatedly, and sometimes a node. Then it starts the nodes with the engine that has the owners.
func TestFaultsMove(t *testing.T) {
	places := []string{logtest.StartNATS(t, 1).URL(), logtest.StartPostgres(t).URL()}
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	c := newCrew(t, []string{"", ""})
	killed, moves := 0, 0
	for killed < wanted() {
		from, to := places[moves%2], places[(moves+1)%2]
		c.url, c.next = from, ""
		follow := moves%2 == 1
		if follow {
			c.next = to
		}
		for i := range c.cmds {
			c.urls[i], c.dirs[i] = from, t.TempDir()
			c.start(i)
		}
		c.flow()
		for kills := 0; ; {
			c.started++
			cmd := exec.Command(c.program, "-test.run=^$")
			cmd.Env = append(os.Environ(), fmt.Sprint("KEN_MOVE=m", c.started), "KEN_MOVE_FROM="+from, "KEN_MOVE_TO="+to, "KEN_MOVE_DIR="+t.TempDir())
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			patience := time.Minute
			if kills < perMove {
				patience = 20*time.Millisecond + time.Duration(rng.Int64N(int64(2*time.Second)))
			}
			i, node := rng.IntN(len(c.cmds)), rng.IntN(4) == 0
			select {
			case err := <-ended:
				if err == nil {
					moves++
				} else if kills++; kills > 2*perMove {
					t.Fatalf("the owners do not arrive: %v", err)
				} else {
					continue
				}
			case <-time.After(patience):
				_ = cmd.Process.Kill()
				<-ended
				killed++
				kills++
				t.Logf("killed after %v, fault %d", patience.Round(time.Millisecond), killed)
				if node {
					c.kill(i)
					c.start(i)
					killed++
					t.Logf("and node %d, fault %d", i, killed)
				}
				continue
			}
			break
		}
		if follow {
			c.flow()
		}
		c.killAll()
	}
	t.Logf("%d moves of %d owners", moves, owners)
	c.verify(places[moves%2])
}
