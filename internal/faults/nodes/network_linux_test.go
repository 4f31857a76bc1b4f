package nodes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// network is a group of hosts, each of which is a network namespace. This process is in another
// namespace. It routes packets between the hosts, and can drop those from one host to another.
type network struct {
	t     *testing.T
	hosts []logtest.Host
}

func newNetwork(t *testing.T, n int) *network {
	w := &network{t: t}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	w.run("ip", "link", "set", "lo", "up")
	for i := range n {
		keeper := exec.Command("cat") // keeps the namespace, and ends with this process
		keeper.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		in, err := keeper.StdinPipe()
		if err == nil {
			err = keeper.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = in.Close(), keeper.Wait() })
		pid, link := fmt.Sprint(keeper.Process.Pid), fmt.Sprint("h", i)
		h := logtest.Host{Address: fmt.Sprintf("10.9.%d.2", i), Enter: []string{"nsenter", "-t", pid, "-n", "--"}}
		w.hosts = append(w.hosts, h)
		router := fmt.Sprintf("10.9.%d.1", i)
		w.run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", pid)
		w.run("ip", "address", "add", router+"/24", "dev", link)
		w.run("ip", "link", "set", link, "up")
		w.run(append(h.Enter, "ip", "address", "add", h.Address+"/24", "dev", "eth0")...)
		w.run(append(h.Enter, "ip", "link", "set", "eth0", "up")...)
		w.run(append(h.Enter, "ip", "link", "set", "lo", "up")...)
		w.run(append(h.Enter, "ip", "route", "add", "default", "via", router)...)
	}
	return w
}

func (w *network) run(command ...string) {
	w.t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

// link is one direction of the traffic between two hosts, by their indexes.
type link struct{ from, to int }

// between returns the links from some hosts to others, and those back if both is set.
func between(some, others []int, both bool) (all []link) {
	for _, a := range some {
		for _, b := range others {
			if a == b {
				continue
			}
			all = append(all, link{a, b})
			if both {
				all = append(all, link{b, a})
			}
		}
	}
	return all
}

// lose returns a fault that drops all packets on some links.
func (w *network) lose(name string, links []link) fault {
	rule := func(do string) func() {
		return func() {
			for _, l := range links {
				w.run("ip", "rule", do, "from", w.hosts[l.from].Address, "to", w.hosts[l.to].Address, "blackhole")
			}
		}
	}
	return fault{name, rule("add"), rule("delete")}
}

// TestFaultsNetwork runs three nodes and three servers, each in its own network namespace. It drops
// packets between any two of them, one way or both. Servers also lose each other, and nodes may
// reach a server that the other servers can't reach.
func TestFaultsNetwork(t *testing.T) {
	if os.Getenv("KEN_NETWORK") == "" {
		inNamespace(t)
		return
	}
	w := newNetwork(t, 6)
	servers, nodes := []int{0, 1, 2}, []int{3, 4, 5}
	nats := logtest.StartNATSOn(t, w.hosts[:3])
	c := newCrew(t, []string{nats.URL(), nats.URL(), nats.URL()})
	c.hosts, c.tls = w.hosts[3:], writeCertificate(t)
	for i := range c.listen {
		c.listen[i] = c.hosts[i].Address + ":7400"
	}
	c.run(func(rng *rand.Rand) fault {
		i := rng.IntN(3)
		node, server := []int{nodes[i]}, []int{servers[i]}
		all := []fault{
			w.lose(fmt.Sprintf("cut node %d off the servers", i), between(node, servers, true)),
			w.lose(fmt.Sprintf("cut what node %d says to the servers", i), between(node, servers, false)),
			w.lose(fmt.Sprintf("cut what the servers say to node %d", i), between(servers, node, false)),
			w.lose(fmt.Sprintf("cut node %d off the other nodes", i), between(node, nodes, true)),
			w.lose(fmt.Sprintf("cut what node %d says to the other nodes", i), between(node, nodes, false)),
			w.lose(fmt.Sprintf("cut node %d off all", i), append(between(node, servers, true), between(node, nodes, true)...)),
			w.lose(fmt.Sprintf("cut server %d off the other servers", i), between(server, servers, true)),
			w.lose(fmt.Sprintf("cut what server %d says to the other servers", i), between(server, servers, false)),
			w.lose(fmt.Sprintf("cut server %d off all nodes", i), between(server, nodes, true)),
			w.lose(fmt.Sprintf("cut server %d off all", i), append(between(server, servers, true), between(server, nodes, true)...)),
			w.lose(fmt.Sprintf("cut server and node %d off the others", i), append(between(append(server, node...), others(servers, i), true), between(append(server, node...), others(nodes, i), true)...)),
			{fmt.Sprintf("kill node %d", i), func() { c.kill(i) }, func() { c.start(i) }},
			{fmt.Sprintf("kill server %d", i), func() { nats.Kill(i) }, func() { nats.Start(i) }},
		}
		return all[rng.IntN(len(all))]
	}, nats.URL())
}

// others returns a copy of all without the element at index i.
func others(all []int, i int) []int {
	return append(append([]int{}, all[:i]...), all[i+1:]...)
}

// inNamespace runs this test in a process with its own network namespace.
func inNamespace(t *testing.T) {
	race.SkipLong(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: there is no %s, which comes with iproute2 and util-linux", tool)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "KEN_NETWORK=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	switch err := cmd.Run(); {
	case errors.Is(err, syscall.EPERM):
		t.Skip("SKIPPED: network namespaces need root")
	case err != nil:
		t.Error(err)
	}
}

// writeCertificate writes the certificate and key that all nodes use, and returns their folder.
func writeCertificate(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{engines.NodeName},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(crand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = errors.Join(os.WriteFile(filepath.Join(dir, "node.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(filepath.Join(dir, "node.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
