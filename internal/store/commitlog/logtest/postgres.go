package logtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Postgres is a PostgreSQL server for a test.
type Postgres struct {
	t    testing.TB
	ctl  string // path of pg_ctl
	dir  string // of its data, log and socket
	port int
}

// StartPostgres starts a server with a new database, and stops it when the test ends. It runs the
// pg_ctl that KEN_PG_CTL names, else that of Debian's packages, else the one on the PATH. It
// skips the test if there is none.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	return StartPostgresIn(t, "")
}

// StartPostgresIn is like StartPostgres, with the files in a new folder below base. The user postgres
// must be able to reach base if the test runs as root. "" means a folder for temporary files.
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
	if base == "" && os.Getuid() == 0 { // the server then runs as the user postgres, who can't read root's folders
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

// end stops the server if it is running.
func (p *Postgres) end() {
	if _, err := os.Stat(filepath.Join(p.dir, "data", "postmaster.pid")); err == nil {
		p.Crash()
	}
}

// Start starts the server, which must not be running, and waits until it is ready.
func (p *Postgres) Start() {
	p.t.Helper()
	p.run(p.ctl, "start", "-D", p.dir+"/data", "-w", "-l", p.dir+"/log", "-s", "-o", fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s", p.port, p.dir))
}

// Crash stops the server at once, without a clean shutdown.
func (p *Postgres) Crash() {
	p.t.Helper()
	p.run(p.ctl, "stop", "-D", p.dir+"/data", "-m", "immediate", "-s")
}

// Address returns the host and port on which the server listens.
func (p *Postgres) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// own makes the user postgres the owner of the folder if the test runs as root: PostgreSQL refuses to
// run as root.
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

// run runs a program, as the user postgres if the test runs as root. It fails the test if that fails.
func (p *Postgres) run(name string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	if err := asPostgres(cmd); err != nil {
		p.t.Fatal(err)
	}
	var out strings.Builder
	log, err := os.CreateTemp("", "kenpg*.out") // a file: the server inherits the output, and a pipe would stay open
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

// URL returns the connection string of the server.
func (p *Postgres) URL() string {
	return fmt.Sprintf("postgres://ken@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}
