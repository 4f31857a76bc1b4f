//go:build unix

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// slowEngines are functions that start an engine, by its name. They return the engine's addresses, a
// function that makes a URL for it from other addresses, such as those of proxies, and the proxies
// through which its servers reach each other.
var slowEngines = map[string]func(t *testing.T) (addresses []string, url func(addresses string) string, routes []*proxy){
	"NATS": func(t *testing.T) ([]string, func(string) string, []*proxy) {
		c, routes := natsBehindProxies(t)
		return c.Addresses(), func(a string) string { return "nats://" + strings.ReplaceAll(a, ",", ",nats://") }, routes
	},
	"PostgreSQL": func(t *testing.T) ([]string, func(string) string, []*proxy) {
		return []string{logtest.StartPostgres(t).Address()}, func(a string) string { return "postgres://ken@" + a + "/postgres?sslmode=disable" }, nil
	},
}

// natsBehindProxies starts three servers of NATS that reach each other through proxies.
func natsBehindProxies(t testing.TB) (c *logtest.NATS, routes []*proxy) {
	front := func(address string) string {
		routes = append(routes, newProxy(t, []string{address}))
		return routes[len(routes)-1].url("")
	}
	return logtest.StartNATSOn(t, slices.Repeat([]logtest.Host{{Address: "127.0.0.1", Front: front}}, 3)), routes
}

// TestFaultsSlowLinks makes all links between nodes, and between nodes and the engine, slow for the
// time in KEN_SLOW, such as 2m. Then it delays what servers of NATS say to each other. No owner may
// change its holder.
func TestFaultsSlowLinks(t *testing.T) {
	race.SkipLong(t)
	length, err := time.ParseDuration(os.Getenv("KEN_SLOW"))
	asked := err == nil
	if !asked {
		length = 5 * time.Second
	}
	for name, start := range slowEngines {
		t.Run(name, func(t *testing.T) {
			addresses, url, routes := start(t)
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
			c.slowDown(log, "links of nodes", append(links, c.peers...), slowLink, length)
			switch {
			case routes == nil:
			case asked || os.Getenv("KEN_FAULTS") != "":
				c.slowDown(log, "links of servers", routes, pace{delay: 50 * time.Millisecond}, length)
				c.slowDown(log, "links of servers", routes, pace{delay: 200 * time.Millisecond}, length)
				c.restart(routes, pace{delay: 200 * time.Millisecond})
			default:
				c.slowDown(log, "links of servers", routes, pace{delay: 50 * time.Millisecond}, time.Second)
			}
			c.verify(c.url)
		})
	}
}

// slowDown makes links slow for some time, while nodes write. It fails the test if an owner changes
// its holder.
func (c *crew) slowDown(log commitlog.Log, name string, links []*proxy, to pace, length time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	c.took = nil
	paused := len(c.pauses)
	c.mu.Unlock()
	stop := c.takeovers(log)
	for _, p := range links {
		p.slow(to)
	}
	pauseFor(length)
	c.flow()
	n, why := stop()
	for _, p := range links {
		p.slow(pace{})
	}
	c.mu.Lock()
	took := slices.Sorted(slices.Values(c.took))
	c.mu.Unlock()
	c.t.Logf("%s, %v: %d writes in %v, p50 %d ms, p99 %d ms, the longest %d ms; pauses %v; %d takeovers %v", name, to.delay, len(took), length,
		took[len(took)/2], took[len(took)*99/100], took[len(took)-1], c.pausesSince(paused), n, why)
	if n > 0 {
		c.t.Errorf("%d times another node took an owner over", n)
	}
	c.flow()
}

// restart kills each node and starts it again, while links are slow.
func (c *crew) restart(links []*proxy, to pace) {
	c.t.Helper()
	for _, p := range links {
		p.slow(to)
	}
	paused := c.paused()
	for i := range c.cmds {
		c.kill(i)
		c.start(i)
		c.flow()
	}
	for _, p := range links {
		p.slow(pace{})
	}
	c.flow()
	if longest := slices.Max(append(c.pausesSince(paused), 0)); longest > 30*time.Second {
		c.t.Errorf("an owner paused for %v", longest)
	} else {
		c.t.Logf("the nodes were killed and started again, %v: the longest pause was %v", to.delay, longest)
	}
}

// TestAnEngineFarAway uses engines that are 200 ms away.
func TestAnEngineFarAway(t *testing.T) {
	for name, start := range slowEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addresses, url, _ := start(t)
			p := newProxy(t, addresses)
			p.slow(pace{delay: 200 * time.Millisecond})
			logtest.RunSlow(t, func(ctx context.Context) (commitlog.Log, error) { return openLog(ctx, url(p.url(""))) })
		})
	}
}

// TestFaultsSlowSnapshot sends a snapshot of some megabytes over a slow link while its owner is written to.
// Another node reads it over such a link. No node may lose its lease meanwhile.
func TestFaultsSlowSnapshot(t *testing.T) {
	inLongRuns(t)
	for name, start := range slowEngines {
		t.Run(name, func(t *testing.T) {
			addresses, url, _ := start(t)
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
			importClaims(t, all, "o0", 3000, 0)
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
