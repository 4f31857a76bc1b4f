//go:build unix

package nodes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
)

// takeovers counts, until stop is called, how often an owner's holder changes.
func (c *crew) takeovers(log commitlog.Log) (stop func() (n int, why []string)) {
	ended, counted := make(chan struct{}), make(chan struct{})
	n, was, why := 0, map[string]commitlog.Lease{}, []string(nil)
	go func() {
		defer close(counted)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			for i := range owners {
				owner := fmt.Sprint("o", i)
				l, err := log.Lease(c.t.Context(), owner)
				if err != nil || l.Token == "" {
					continue
				}
				if before, known := was[owner]; known && before.Token != l.Token {
					n++
					why = append(why, fmt.Sprintf("%s from %s to %s", owner, before.Node, l.Node))
				}
				was[owner] = l
			}
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	}()
	return func() (int, []string) { close(ended); <-counted; return n, why }
}

// paused returns the number of pauses so far.
func (c *crew) paused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pauses)
}

// pausesSince returns the pauses after the first n.
func (c *crew) pausesSince(n int) (all []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pauses[n:] {
		all = append(all, p.Round(10*time.Millisecond))
	}
	return all
}

// slowEngines are functions that start an engine, by its name. They return the engine's addresses, and
// a function that makes a URL for it from other addresses, such as those of proxies.
var slowEngines = map[string]func(t *testing.T) (addresses []string, url func(addresses string) string){
	"NATS": func(t *testing.T) ([]string, func(string) string) {
		return logtest.StartNATS(t, 3).Addresses(), func(a string) string { return "nats://" + strings.ReplaceAll(a, ",", ",nats://") }
	},
	"PostgreSQL": func(t *testing.T) ([]string, func(string) string) {
		return []string{logtest.StartPostgres(t).Address()}, func(a string) string { return "postgres://ken@" + a + "/postgres?sslmode=disable" }
	},
}

// TestFaultsSlowLinks makes all links between nodes, and between nodes and the engine, slow for the
// time in KEN_SLOW, such as 2m. No owner may change its holder.
func TestFaultsSlowLinks(t *testing.T) {
	race.SkipLong(t)
	length, err := time.ParseDuration(os.Getenv("KEN_SLOW"))
	if err != nil {
		length = 5 * time.Second
	}
	for name, start := range slowEngines {
		t.Run(name, func(t *testing.T) {
			addresses, url := start(t)
			var urls []string
			var links []*proxy
			for range 3 {
				links = append(links, newProxy(t, addresses))
				urls = append(urls, url(links[len(links)-1].url("")))
			}
			c := newCrew(t, urls)
			c.url = url(strings.Join(addresses, ","))
			for i := range c.cmds {
				c.start(i)
			}
			c.flow()
			log, err := openLog(t.Context(), c.url)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			links = append(links, c.peers...)
			before, stop := c.acknowledged(), c.takeovers(log)
			for _, p := range links {
				p.slow(slowLink)
			}
			pauseFor(length)
			c.flow()
			n, why := stop()
			t.Logf("%d writes in %v of slow links; %d takeovers %v", c.acknowledged()-before, length, n, why)
			if n > 0 {
				t.Errorf("%d times another node took an owner over", n)
			}
			for _, p := range links {
				p.slow(pace{})
			}
			c.flow()
			c.verify(c.url)
		})
	}
}

// TestFaultsSlowSnapshot sends a snapshot of some megabytes over a slow link while its owner is written to.
// Another node reads it over such a link. No node may lose its lease meanwhile.
func TestFaultsSlowSnapshot(t *testing.T) {
	inLongRuns(t)
	for name, start := range slowEngines {
		t.Run(name, func(t *testing.T) {
			addresses, url := start(t)
			direct, err := openLog(t.Context(), url(strings.Join(addresses, ",")))
			if err != nil {
				t.Fatal(err)
			}
			defer direct.Close()
			member := func(id string) (*proxy, *shared.Owners, func()) {
				link := newProxy(t, addresses)
				log, err := openLog(t.Context(), url(link.url("")))
				var n *shared.Node
				if err == nil {
					n, err = shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: id})
				}
				if err != nil {
					t.Fatal(err)
				}
				all := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: n, Store: bolt.Options{NoSync: true}})
				return link, all, func() {
					if err := errors.Join(all.Close(), n.Close()); err != nil {
						t.Error(err)
					}
				}
			}
			link, all, end := member("first")
			importClaims(t, all, "o0", 3000)
			s, release, err := all.Get(t.Context(), "o0")
			if err != nil {
				t.Fatal(err)
			}
			link.slow(slowLink)
			c := &crew{t: t}
			stop, compacted, begun := c.takeovers(direct), make(chan error, 1), time.Now()
			go func() { compacted <- s.Compact(t.Context()) }()
			longest, writes := time.Duration(0), 0
			for going := true; going; writes++ {
				claim, err := ken.NewClaim(fmt.Sprint("word", writes), ken.FromUserStatement("s", "m"))
				if err != nil {
					t.Fatal(err)
				}
				asked := time.Now()
				if _, err := s.WriteClaim(t.Context(), claim); err != nil {
					t.Errorf("write %d: %v", writes, err)
				}
				longest = max(longest, time.Since(asked))
				select {
				case err := <-compacted:
					if going = false; err != nil {
						t.Errorf("compact: %v", err)
					}
				default:
				}
			}
			n, why := stop()
			_, sent, err := direct.Snapshot(t.Context(), "o0")
			if err != nil {
				t.Fatal(err)
			}
			size, err := io.Copy(io.Discard, sent)
			if err = errors.Join(err, sent.Close()); err != nil {
				t.Fatal(err)
			}
			t.Logf("a snapshot of %d kB took %v; %d writes meanwhile, the longest %v; %d takeovers %v", size>>10, time.Since(begun).Round(time.Second), writes, longest.Round(10*time.Millisecond), n, why)
			if n > 0 {
				t.Error("the owner was taken over")
			}
			want := s.Len()
			release()
			link.slow(pace{})
			end()
			link, all, end = member("second")
			link.slow(slowLink)
			begun = time.Now()
			if s, release, err = all.Get(t.Context(), "o0"); err != nil {
				t.Fatal(err)
			}
			t.Logf("another node opened it after %v", time.Since(begun).Round(time.Second))
			if s.Len() != want || !all.Holds("o0") {
				t.Errorf("it has %d claims of %d", s.Len(), want)
			}
			release()
			link.slow(pace{})
			end()
		})
	}
}

// inLongRuns skips a test that takes a minute, unless KEN_FAULTS is set, as "make chaos" does.
func inLongRuns(t *testing.T) {
	if os.Getenv("KEN_FAULTS") == "" {
		t.Skip("SKIPPED: set KEN_FAULTS")
	}
}

func pauseFor(d time.Duration) { <-time.After(d) }
