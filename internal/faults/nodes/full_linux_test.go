package nodes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// disk is a small file system in memory.
type disk struct {
	t   *testing.T
	dir string
}

// newDisk mounts a disk. It skips the test if that is not allowed.
func newDisk(t *testing.T, size string) *disk {
	t.Helper()
	base := ""
	if os.Getuid() == 0 { // the user postgres must be able to reach it
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "kendisk")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: mounting a file system needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &disk{t, dir}
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill writes a file that uses all free space.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		n, err := f.Write(make([]byte, size))
		switch {
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			d.t.Fatal(err)
		case err != nil && n == 0:
			size /= 2
		}
	}
}

// room removes the file of fill.
func (d *disk) room() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

// heard reports whether the text of any refusal contains all words.
func (c *crew) heard(words ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for why := range c.refused {
		all := true
		for _, w := range words {
			all = all && strings.Contains(why, w)
		}
		if all {
			return true
		}
	}
	return false
}

// TestFaultsFullNode fills the disk of a node's folder, while the node serves owners and while it
// opens them.
func TestFaultsFullNode(t *testing.T) {
	race.SkipLong(t)
	d := newDisk(t, "32m")
	nats := logtest.StartNATS(t, 3)
	c := newCrew(t, []string{nats.URL(), nats.URL(), nats.URL()})
	c.url, c.dirs[0] = nats.URL(), d.dir
	c.start(0)
	c.flow() // it serves all owners
	c.start(1)
	c.start(2)
	c.flow()
	t.Log("the disk of the node that serves all owners is full")
	d.fill()
	c.flow()
	pauseFor(3 * time.Second)
	c.flow()
	t.Log("there is room again, and no other node")
	d.room()
	c.kill(1)
	c.kill(2)
	c.flow()
	t.Log("the disk is full, and no other node is there")
	d.fill()
	pauseFor(6 * time.Second)
	t.Log("there is room again")
	d.room()
	c.flow()
	t.Log("it opens owners with a full disk, and an empty folder")
	c.kill(0)
	for _, e := range []string{"o0", "o1", "o2", "o3"} {
		if err := os.RemoveAll(filepath.Join(d.dir, e)); err != nil {
			t.Fatal(err)
		}
	}
	d.fill()
	c.start(0)
	pauseFor(6 * time.Second)
	t.Log("another node has room")
	c.start(1)
	c.flow()
	t.Log("there is room again, and no other node")
	d.room()
	c.kill(1)
	c.flow()
	if !c.heard("no space left on device", "Try: ", "room") {
		t.Error("no refusal says why, and what to do")
	}
	c.verify(nats.URL())
}

// startOnDisks starts three servers of NATS, each with its files on a disk.
func startOnDisks(t *testing.T, disks []*disk) *logtest.NATS {
	hosts := make([]logtest.Host, len(disks))
	for i, d := range disks {
		hosts[i].Address = "127.0.0.1"
		if d != nil {
			hosts[i].Dir = filepath.Join(d.dir, "nats")
		}
	}
	return logtest.StartNATSOn(t, hosts)
}

// TestFaultsFullServer fills the disk of one of three NATS servers. Writes must continue.
func TestFaultsFullServer(t *testing.T) {
	inLongRuns(t)
	for i := range 3 {
		disks := make([]*disk, 3)
		disks[i] = newDisk(t, "64m")
		nats := startOnDisks(t, disks)
		c := newCrew(t, []string{nats.URL(), nats.URL(), nats.URL()})
		c.url = nats.URL()
		for n := range c.cmds {
			c.start(n)
		}
		c.flow()
		t.Logf("the disk of server %d is full", i)
		disks[i].fill()
		for range 5 {
			pauseFor(2 * time.Second)
			c.flow()
		}
		t.Log("there is room again, and it is started again")
		disks[i].room()
		nats.Kill(i)
		nats.Start(i)
		c.flow()
		t.Log("another server is lost")
		other := (i + 1) % 3
		nats.Kill(other)
		c.flow()
		nats.Start(other)
		c.flow()
		c.verify(nats.URL())
	}
}

// TestFaultsFullServers fills the disks of all three NATS servers.
func TestFaultsFullServers(t *testing.T) {
	inLongRuns(t)
	disks := []*disk{newDisk(t, "64m"), newDisk(t, "64m"), newDisk(t, "64m")}
	nats := startOnDisks(t, disks)
	c := newCrew(t, []string{nats.URL(), nats.URL(), nats.URL()})
	c.url = nats.URL()
	for n := range c.cmds {
		c.start(n)
	}
	c.flow()
	t.Log("the disks are full")
	for _, d := range disks {
		d.fill()
	}
	pauseFor(20 * time.Second)
	t.Logf("%d acknowledged", c.acknowledged())
	t.Log("there is room again")
	for _, d := range disks {
		d.room()
	}
	pauseFor(10 * time.Second)
	t.Logf("%d acknowledged", c.acknowledged())
	t.Log("the servers are started again")
	for i := range disks {
		nats.Kill(i)
	}
	for i := range disks {
		nats.Start(i)
	}
	c.flow()
	c.verify(nats.URL())
}

// TestFaultsFullPostgres fills the disk of PostgreSQL.
func TestFaultsFullPostgres(t *testing.T) {
	race.SkipLong(t)
	d := newDisk(t, "160m")
	pg := logtest.StartPostgresIn(t, d.dir)
	c := newCrew(t, []string{pg.URL(), pg.URL(), pg.URL()})
	c.url = pg.URL()
	for n := range c.cmds {
		c.start(n)
	}
	c.flow()
	t.Log("the disk is full")
	d.fill()
	pauseFor(8 * time.Second)
	t.Logf("%d acknowledged", c.acknowledged())
	t.Log("there is room again")
	d.room()
	c.flow()
	c.verify(pg.URL())
}
