package logtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Postgres is a server of PostgreSQL that a test has started.
type Postgres struct {
	t    testing.TB
	ctl  string
	dir  string
	port int
}

// StartPostgres makes a database of its own, serves it, and stops when the test ends. Where
// there is no PostgreSQL the test is skipped: KEN_PG_CTL names its pg_ctl, else the one on
// the path, or of Debian's packages, is taken.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	return StartPostgresIn(t, "")
}

// StartPostgresIn is StartPostgres with the files below a folder that the user postgres can reach.
func StartPostgresIn(t testing.TB, base string) *Postgres {
	t.Helper()
	ctl := os.Getenv("KEN_PG_CTL")
	if ctl == "" {
		if all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl"); len(all) > 0 {
			ctl = all[len(all)-1]
		} else if ctl, _ = exec.LookPath("pg_ctl"); ctl == "" {
			t.Skip("SKIPPED: there is no PostgreSQL: install postgresql, or set KEN_PG_CTL")
		}
	}
	if base == "" && os.Getuid() == 0 { // who runs the server then can't look into root's folders
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "kenpg")
	if err != nil {
		t.Fatal(err)
	}
	p := &Postgres{t: t, ctl: ctl, dir: dir, port: freePorts(t, 1)[0]}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p.own()
	p.run(ctl, "initdb", "-D", dir+"/data", "-o", "-A trust -U ken --no-sync", "-s")
	p.Start()
	t.Cleanup(p.end)
	return p
}

// end ends the server, if it is there.
func (p *Postgres) end() {
	if _, err := os.Stat(filepath.Join(p.dir, "data", "postmaster.pid")); err == nil {
		p.Crash()
	}
}

// Start starts the server, which is not there.
func (p *Postgres) Start() {
	p.t.Helper()
	p.run(p.ctl, "start", "-D", p.dir+"/data", "-w", "-l", p.dir+"/log", "-s", "-o", fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s", p.port, p.dir))
}

// Crash ends the server without a word to anybody.
func (p *Postgres) Crash() {
	p.t.Helper()
	p.run(p.ctl, "stop", "-D", p.dir+"/data", "-m", "immediate", "-s")
}

// Address is where the server listens.
func (p *Postgres) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// own gives the folder to who runs the server: it refuses to run as root.
func (p *Postgres) own() {
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		p.t.Skip("SKIPPED: PostgreSQL does not run as root, and there is no user postgres")
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(p.dir, uid, gid); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Postgres) run(name string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			p.t.Fatal(err)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	var out strings.Builder
	log, err := os.CreateTemp("", "kenpg*.out") // the server keeps what it inherits: a pipe would never end
	if err != nil {
		p.t.Fatal(err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(log.Name())
		out.Write(b)
		p.t.Fatalf("%s: %v\n%s", cmd, err, out.String())
	}
}

// URL names the server.
func (p *Postgres) URL() string {
	return fmt.Sprintf("postgres://ken@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}
