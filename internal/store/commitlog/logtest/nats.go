package logtest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS is a cluster of NATS servers, which run as processes. Servers are numbered from 0.
type NATS struct {
	t       testing.TB
	program string
	dir     string
	hosts   []Host
	clients []int       // each server's port for clients
	routes  []int       // each server's port for other servers
	fronts  []string    // the addresses at which other servers connect to each
	cmds    []*exec.Cmd // nil for a server that was killed
}

// Host describes where a server runs.
type Host struct {
	Address string   // the IP address on which it listens
	Enter   []string // the command that starts a program there, such as nsenter; empty for this host
	Dir     string   // the folder of its files; "" for a temporary folder of the test
	// Front starts a proxy for the address at which other servers connect to this one, and returns
	// the proxy's address; nil for none.
	Front func(address string) string
}

// StartNATS starts a cluster of n servers, and kills it when the test ends. It runs the program that
// KEN_NATS_SERVER names, else bin/nats-server in this repository, which "make engines" installs, else
// the nats-server on the PATH. It skips the test if there is none.
func StartNATS(t testing.TB, n int) *NATS {
	t.Helper()
	return StartNATSOn(t, slices.Repeat([]Host{{Address: "127.0.0.1"}}, n))
}

// StartNATSOn is like StartNATS, with one server on each host.
func StartNATSOn(t testing.TB, hosts []Host) *NATS {
	t.Helper()
	n := len(hosts)
	c := &NATS{t: t, program: find(t, "nats-server", "KEN_NATS_SERVER"), dir: t.TempDir(), hosts: hosts, cmds: make([]*exec.Cmd, n)}
	c.clients, c.routes = freePorts(t, n), freePorts(t, n)
	for i, h := range hosts {
		front := fmt.Sprintf("%s:%d", h.Address, c.routes[i])
		if h.Front != nil {
			front = h.Front(front)
		}
		c.fronts = append(c.fronts, front)
	}
	t.Cleanup(func() {
		for i := range n {
			c.Kill(i)
			if log, err := os.ReadFile(c.logFile(i)); err == nil && t.Failed() {
				t.Logf("the last of what server %d logged:\n%s", i, log[max(0, len(log)-8000):])
			}
		}
	})
	for i := range n {
		c.Start(i)
	}
	c.waitForLeader()
	return c
}

// waitForLeader waits until the servers can create streams.
func (c *NATS) waitForLeader() {
	c.t.Helper()
	nc, err := nats.Connect(c.URL())
	if err != nil {
		c.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for last := error(nil); ; {
		once, cancel := context.WithTimeout(ctx, time.Second) // without a leader, nobody answers a request
		_, err := js.CreateOrUpdateStream(once, jetstream.StreamConfig{Name: "ready", Replicas: len(c.cmds)})
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("the servers have no leader: %v", last)
		}
		last = err
		<-time.After(50 * time.Millisecond)
	}
}

// find returns the path of a program. The environment variable overrides it. find skips the test if
// there is no such program.
func find(t testing.TB, name, variable string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	_, file, _, _ := runtime.Caller(0)
	if path := filepath.Join(filepath.Dir(file), "../../../../bin", name); isFile(path) {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s: run make engines, or set %s", name, variable)
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// freePorts returns n free TCP ports of 127.0.0.1.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// URL returns the URLs of all servers, separated by commas.
func (c *NATS) URL() string {
	var all []string
	for _, address := range c.Addresses() {
		all = append(all, "nats://"+address)
	}
	return strings.Join(all, ",")
}

// Addresses returns the host and port of each server.
func (c *NATS) Addresses() (all []string) {
	for i, port := range c.clients {
		all = append(all, fmt.Sprintf("%s:%d", c.hosts[i].Address, port))
	}
	return all
}

// Start starts server i, which must not be running, and waits until it listens.
func (c *NATS) Start(i int) {
	c.t.Helper()
	// The limit of data that waits in memory is lower than the default of 128 MB, so that a client that
	// sends too much at once fails on a fast machine, too.
	config := filepath.Join(c.dir, "server.conf")
	if err := os.WriteFile(config, []byte("jetstream { max_buffered_size: 32MB }\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	args := []string{c.program, "-c", config, "-a", c.hosts[i].Address, "-p", fmt.Sprint(c.clients[i]), "-js", "-sd", cmp.Or(c.hosts[i].Dir, filepath.Join(c.dir, fmt.Sprint(i))), "-n", fmt.Sprintf("s%d", i)}
	if len(c.cmds) > 1 {
		args = append(args, "-no_advertise", "-cluster_name", "test", "-cluster", fmt.Sprintf("nats://%s:%d", c.hosts[i].Address, c.routes[i]),
			"-cluster_advertise", c.fronts[i], "-routes", "nats://"+strings.Join(c.fronts, ",nats://"))
	}
	log, err := os.OpenFile(c.logFile(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	args = append(slices.Clone(c.hosts[i].Enter), args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.cmds[i] = cmd
	waitFor(c.t, c.Addresses()[i])
}

func (c *NATS) logFile(i int) string { return filepath.Join(c.dir, fmt.Sprintf("%d.log", i)) }

// waitFor waits until a program listens at a TCP address.
func waitFor(t testing.TB, address string) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		nc, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
		if err == nil {
			_ = nc.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody listens at %s: %v", address, err)
		}
	}
}

// Process returns the process of server i, which must be running.
func (c *NATS) Process(i int) *os.Process { return c.cmds[i].Process }

// Kill kills server i. It does nothing if the server is not running.
func (c *NATS) Kill(i int) {
	if cmd := c.cmds[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.cmds[i] = nil
	}
}
