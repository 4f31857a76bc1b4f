package logtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresPair is a primary and its synchronous standby.
type PostgresPair struct {
	t       testing.TB
	servers [2]*Postgres
	primary int // index in servers
	receive int // PID of the standby's WAL receiver that was last paused; 0 for none
}

// StartPostgresPair is like StartPostgres, with a streaming standby. A commit returns when both
// servers have it.
func StartPostgresPair(t testing.TB) *PostgresPair {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the standby is paused by a signal, which Windows does not have")
	}
	p := &PostgresPair{t: t}
	p.servers[0] = StartPostgres(t)
	p.servers[1] = p.servers[0].sibling()
	p.join(1)
	return p
}

// sibling returns another server, which has no data yet and is not running.
func (p *Postgres) sibling() *Postgres {
	base := ""
	if os.Getuid() == 0 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "kenpg")
	if err != nil {
		p.t.Fatal(err)
	}
	s := &Postgres{t: p.t, ctl: p.ctl, dir: dir, port: freePorts(p.t, 1)[0]}
	p.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.own()
	p.t.Cleanup(s.end)
	return s
}

// join makes server i the standby of the other one, with a copy of its data, and waits until it is
// synchronous.
func (p *PostgresPair) join(i int) {
	p.t.Helper()
	from, s := p.servers[1-i], p.servers[i]
	data := s.dir + "/data"
	if err := os.RemoveAll(data); err != nil {
		p.t.Fatal(err)
	}
	s.run(filepath.Join(filepath.Dir(s.ctl), "pg_basebackup"), "-h", "127.0.0.1", "-p", fmt.Sprint(from.port), "-U", "ken", "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	s.Start()
	from.Ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
	from.Ask("SELECT pg_reload_conf()")
	for end := time.Now().Add(time.Minute); from.Ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1"; {
		if time.Now().After(end) {
			p.t.Fatal("the standby does not become synchronous")
		}
		<-time.After(50 * time.Millisecond)
	}
}

// Ask runs a statement, and returns the first value of its first row; "" if there is none.
func (p *Postgres) Ask(sql string) (value string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	rows, err := c.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() {
		if all, err := rows.Values(); err == nil && len(all) > 0 {
			value = fmt.Sprint(all[0])
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// Crash stops the primary at once, without a clean shutdown.
func (p *PostgresPair) Crash() { p.t.Helper(); p.servers[p.primary].Crash() }

// Start starts the primary again.
func (p *PostgresPair) Start() { p.t.Helper(); p.servers[p.primary].Start() }

// Promote makes the standby the primary, after Crash of the old one. It accepts writes without a
// standby until Rejoin.
func (p *PostgresPair) Promote() {
	p.t.Helper()
	p.primary = 1 - p.primary
	s := p.servers[p.primary]
	s.run(s.ctl, "promote", "-D", s.dir+"/data", "-w", "-s")
	s.Ask("ALTER SYSTEM SET synchronous_standby_names = ''")
	s.Ask("SELECT pg_reload_conf()")
}

// Rejoin starts the server that crashed as the standby, with a new copy of the data.
func (p *PostgresPair) Rejoin() { p.t.Helper(); p.join(1 - p.primary) }

// Pause stops the standby from receiving data, until Continue.
func (p *PostgresPair) Pause() {
	p.t.Helper()
	if _, err := fmt.Sscan(p.servers[1-p.primary].Ask("SELECT pid FROM pg_stat_wal_receiver"), &p.receive); err != nil {
		p.t.Fatal(err)
	}
	pause(p.receive)
}

// Continue ends Pause.
func (p *PostgresPair) Continue() { resume(p.receive) }

// Addresses returns the host and port of both servers.
func (p *PostgresPair) Addresses() []string {
	return []string{p.servers[0].Address(), p.servers[1].Address()}
}

// URL returns a connection string with both servers that connects to the primary.
func (p *PostgresPair) URL() string { return PairURL(strings.Join(p.Addresses(), ",")) }

// PairURL returns a connection string that connects to the primary among addresses, which are
// separated by commas.
func PairURL(addresses string) string {
	return "postgres://ken@" + addresses + "/postgres?sslmode=disable&target_session_attrs=read-write"
}
