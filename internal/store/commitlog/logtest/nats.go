package logtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS is servers of NATS that a test has started, as processes.
type NATS struct {
	t       testing.TB
	program string
	dir     string
	clients []int // ports
	routes  []int
	cmds    []*exec.Cmd
}

// StartNATS starts a cluster of n servers, and stops it when the test ends. Where there is no
// nats-server the test is skipped: KEN_NATS_SERVER names one, else bin/nats-server in this
// repository is taken, which make engines installs, else the one on the path.
func StartNATS(t testing.TB, n int) *NATS {
	t.Helper()
	c := &NATS{t: t, program: find(t, "nats-server", "KEN_NATS_SERVER"), dir: t.TempDir(), cmds: make([]*exec.Cmd, n)}
	c.clients, c.routes = freePorts(t, n), freePorts(t, n)
	t.Cleanup(func() {
		for i := range n {
			c.Kill(i)
		}
	})
	for i := range n {
		c.Start(i)
	}
	c.waitForLeader()
	return c
}

// waitForLeader waits until the servers can make streams.
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
		once, cancel := context.WithTimeout(ctx, time.Second) // a request that no leader hears has no answer
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

// find returns where a program is, or skips the test.
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

// freePorts are ports that nobody listens on.
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

// URL names all servers.
func (c *NATS) URL() string {
	var all []string
	for _, port := range c.clients {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	return strings.Join(all, ",")
}

// Addresses are those of all servers.
func (c *NATS) Addresses() (all []string) {
	for _, port := range c.clients {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return all
}

// Start starts a server, or starts it again, and waits until it listens.
func (c *NATS) Start(i int) {
	c.t.Helper()
	// A server keeps less in memory until it is stored than it usually does (128 MB), so that what
	// sends more at once fails on a fast machine, too.
	config := filepath.Join(c.dir, "server.conf")
	if err := os.WriteFile(config, []byte("jetstream { max_buffered_size: 32MB }\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	args := []string{"-c", config, "-a", "127.0.0.1", "-p", fmt.Sprint(c.clients[i]), "-js", "-sd", filepath.Join(c.dir, fmt.Sprint(i)), "-n", fmt.Sprintf("s%d", i)}
	if len(c.cmds) > 1 {
		var routes []string
		for _, port := range c.routes {
			routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
		}
		args = append(args, "-no_advertise", "-cluster_name", "test", "-cluster", fmt.Sprintf("nats://127.0.0.1:%d", c.routes[i]), "-routes", strings.Join(routes, ","))
	}
	log, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(c.program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.cmds[i] = cmd
	waitFor(c.t, c.clients[i])
}

// waitFor waits until somebody listens on a port.
func waitFor(t testing.TB, port int) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		nc, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = nc.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody listens on port %d: %v", port, err)
		}
	}
}

// Process is a server's process.
func (c *NATS) Process(i int) *os.Process { return c.cmds[i].Process }

// Kill ends a server at once. One that is not there stays away.
func (c *NATS) Kill(i int) {
	if cmd := c.cmds[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.cmds[i] = nil
	}
}
