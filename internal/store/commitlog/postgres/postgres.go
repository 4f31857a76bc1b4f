// Package postgres implements commitlog.Log with PostgreSQL 15 or later. All tables are in one
// schema. The primary key of owner and position fences writers. Durability and standbys are
// configured in the server: if synchronous_standby_names is set, a record is on a standby
// before Append returns.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Options configures a log.
type Options struct {
	// URL is a connection string of libpq. With several hosts and target_session_attrs=read-write,
	// the log follows a promotion. The password may also be in PGPASSWORD or in a password file.
	URL string
	// Schema is the name of the schema for the tables. Default "ken".
	Schema string
}

// Log is a commitlog.Log.
type Log struct {
	pool   *pgxpool.Pool
	schema string // quoted
}

var _ commitlog.Log = (*Log)(nil)

// tables creates the schema and its tables. The id of a record identifies the call of Append that
// wrote it. The rows of snapshot_parts with a snapshot's id have its data. A snapshot exists when
// its row in snapshots does.
const tables = `
CREATE SCHEMA IF NOT EXISTS %[1]s;
CREATE TABLE IF NOT EXISTS %[1]s.records (
	owner text NOT NULL, position bigint NOT NULL, id uuid NOT NULL, data bytea NOT NULL, PRIMARY KEY (owner, position));
CREATE TABLE IF NOT EXISTS %[1]s.snapshots (owner text PRIMARY KEY, position bigint NOT NULL, id uuid NOT NULL);
CREATE TABLE IF NOT EXISTS %[1]s.snapshot_parts (id uuid NOT NULL, part int NOT NULL, data bytea NOT NULL, PRIMARY KEY (id, part));
CREATE TABLE IF NOT EXISTS %[1]s.leases (
	owner text PRIMARY KEY, node text NOT NULL, address text NOT NULL, token text NOT NULL, revision bigint NOT NULL);
CREATE TABLE IF NOT EXISTS %[1]s.nodes (id text PRIMARY KEY, address text NOT NULL, version text NOT NULL, beats bigint NOT NULL);
`

// Open connects to the server, and creates the tables if they do not exist. Errors:
// commitlog.ErrUnreachable; those of the server, if the user lacks a permission.
func Open(ctx context.Context, o Options) (*Log, error) {
	o.Schema = cmp.Or(o.Schema, "ken")
	c, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, err // without the password: see pgconn.ParseConfigError
	}
	c.ConnConfig.ConnectTimeout = connectWait
	c.ConnConfig.DialFunc = (&net.Dialer{Timeout: tryWait}).DialContext
	c.MaxConns = max(c.MaxConns, 32)
	c.HealthCheckPeriod = time.Second
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	l := &Log{pool: pool, schema: pgx.Identifier{o.Schema}.Sanitize()}
	if err := l.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return l, nil
}

// prepare creates the tables. A lock keeps two nodes from doing so at once, which would fail. All
// statements are one request, which the server executes in one transaction.
func (l *Log) prepare(ctx context.Context) error {
	lock := "SELECT pg_advisory_xact_lock(hashtext('ken " + strings.ReplaceAll(l.schema, "'", "''") + "'));"
	return l.try(ctx, func(ctx context.Context) error {
		_, err := l.pool.Exec(ctx, lock+fmt.Sprintf(tables, l.schema))
		return err
	})
}

// Pauses between two attempts.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	// tryWait limits the first attempt, because a server that is down does not answer. On a slow link
	// a statement may take three round trips, so later attempts have slowWait.
	tryWait  = time.Second
	slowWait = 2 * time.Second
	// connectWait limits the time to log in, which takes up to seven round trips.
	connectWait = 4 * time.Second
)

// passes reports whether an error is temporary: the server does not answer, starts, stops, lacks
// resources or is no longer the primary, or transactions were in conflict.
func passes(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code[:2] {
		case "08", "57", "53": // connection, operator intervention, resources
			return true
		}
		return pg.Code == "25006" || pg.Code == "40001" || pg.Code == "40P01" // read-only, serialization, deadlock
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err) || errors.Is(err, net.ErrClosed)
}

// try runs fn until it succeeds, returns a permanent error, or ctx ends. An attempt should make one
// request.
func (l *Log) try(ctx context.Context, fn func(ctx context.Context) error) error {
	return l.tryWithin(ctx, slowWait, fn)
}

// tryWithin is try with another limit: that of an attempt doubles each time, from tryWait up to
// longest. A large answer may take long to arrive.
func (l *Log) tryWithin(ctx context.Context, longest time.Duration, fn func(ctx context.Context) error) error {
	wait := tryWait
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		once, cancel := context.WithTimeout(ctx, wait)
		err := fn(once)
		cancel()
		wait = min(2*wait, longest)
		if err == nil || !passes(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", commitlog.ErrUnreachable, errors.Join(ctx.Err(), err))
		}
	}
}

// sql replaces %s or %[1]s in a statement with the quoted schema.
func (l *Log) sql(format string) string { return fmt.Sprintf(format, l.schema) }

func duplicate(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// Append implements commitlog.Log. It repeats an attempt whose answer was lost with the same id, so
// that the record is appended only once. An owner's first position is 1.
func (l *Log) Append(ctx context.Context, owner string, after uint64, data []byte) (uint64, error) {
	id := uuid.Must(uuid.NewV7())
	err := l.try(ctx, func(ctx context.Context) error {
		// Insert the record only if it follows the last record, or is the first one.
		tag, err := l.pool.Exec(ctx, l.sql(`
			INSERT INTO %[1]s.records (owner, position, id, data)
			SELECT $1, $2::bigint + 1, $3, $4
			WHERE ($2::bigint = 0 AND NOT EXISTS (SELECT 1 FROM %[1]s.records WHERE owner = $1))
			   OR $2::bigint = (SELECT max(position) FROM %[1]s.records WHERE owner = $1)`), owner, int64(after), id, data)
		if err == nil && tag.RowsAffected() == 1 {
			return nil
		}
		if err != nil && !duplicate(err) {
			return err
		}
		var there uuid.UUID
		err = l.pool.QueryRow(ctx, l.sql("SELECT id FROM %s.records WHERE owner = $1 AND position = $2"), owner, int64(after)+1).Scan(&there)
		if err == nil && there == id {
			return l.replicated(ctx)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return commitlog.ErrFenced
	})
	return after + 1, err
}

// replicated returns when the synchronous standbys have everything that this server has committed.
// An attempt that was interrupted while it waited for them may be committed on this server only.
func (l *Log) replicated(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, "SELECT pg_logical_emit_message(true, 'ken', '')") // its commit is later in the write-ahead log, and waits for the standbys
	return err
}

// Last implements commitlog.Log.
func (l *Log) Last(ctx context.Context, owner string) (at uint64, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		return l.pool.QueryRow(ctx, l.sql("SELECT coalesce(max(position), 0) FROM %s.records WHERE owner = $1"), owner).Scan(&at)
	})
	return at, err
}

// page is how many records a query of Read returns at most. pageWait limits the time it may take.
const (
	page     = 256
	pageWait = 32 * time.Second
)

// Read implements commitlog.Log.
func (l *Log) Read(ctx context.Context, owner string, after uint64) iter.Seq2[commitlog.Record, error] {
	return func(yield func(commitlog.Record, error) bool) {
		last, err := l.Last(ctx, owner)
		for err == nil && after < last {
			var some []commitlog.Record
			err = l.tryWithin(ctx, pageWait, func(ctx context.Context) error {
				rows, err := l.pool.Query(ctx, l.sql(`
					SELECT position, data FROM %s.records WHERE owner = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT $4`),
					owner, int64(after), int64(last), page)
				if err != nil {
					return err
				}
				some, err = pgx.CollectRows(rows, pgx.RowToStructByPos[commitlog.Record])
				return err
			})
			if err == nil && len(some) == 0 {
				return
			}
			for _, r := range some {
				if !yield(r, nil) {
					return
				}
				after = r.Position
			}
		}
		if err != nil {
			yield(commitlog.Record{}, err)
		}
	}
}

// Truncate implements commitlog.Log. The server removes the records from its files when it vacuums
// the table, and from its write-ahead log when it recycles that.
func (l *Log) Truncate(ctx context.Context, owner string, upTo uint64) error {
	return l.exec(ctx, `
		DELETE FROM %[1]s.records WHERE owner = $1 AND position <= $2
		AND position < (SELECT max(position) FROM %[1]s.records WHERE owner = $1)`, owner, int64(upTo))
}

// partSize is the maximum size of the data in a row of snapshot_parts, in bytes.
const partSize = 1 << 20

// PutSnapshot implements commitlog.Log.
func (l *Log) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	id, buf := uuid.Must(uuid.NewV7()), make([]byte, partSize)
	// One transaction, so that an interrupted snapshot leaves no rows. There is no retry, because r can
	// be read only once.
	err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		for part := 0; ; part++ {
			n, err := io.ReadFull(r, buf)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				return err
			}
			if n > 0 {
				if _, err := tx.Exec(ctx, l.sql("INSERT INTO %s.snapshot_parts VALUES ($1, $2, $3)"), id, part, buf[:n]); err != nil {
					return err
				}
			}
			if err != nil {
				break
			}
		}
		_, err := tx.Exec(ctx, l.sql(`
			INSERT INTO %[1]s.snapshots VALUES ($1, $2, $3)
			ON CONFLICT (owner) DO UPDATE SET position = $2, id = $3 WHERE snapshots.position <= $2`), owner, int64(position), id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, l.sql(`
			DELETE FROM %[1]s.snapshot_parts p WHERE NOT EXISTS (SELECT 1 FROM %[1]s.snapshots s WHERE s.id = p.id)`))
		return err
	})
	if err != nil && passes(err) {
		return fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	return err
}

// Snapshot implements commitlog.Log. The reader requests the snapshot at the first Read. From then on
// it holds a transaction and a connection until it is closed, and returns the whole snapshot even if
// another one replaces it meanwhile.
func (l *Log) Snapshot(ctx context.Context, owner string) (uint64, io.ReadCloser, error) {
	type current struct {
		Position uint64
		ID       uuid.UUID
	}
	c, err := first(query(ctx, l, pgx.RowToStructByPos[current], "SELECT position, id FROM %s.snapshots WHERE owner = $1", owner))
	if err != nil || c.Position == 0 {
		return 0, nil, err
	}
	return c.Position, &snapshotReader{ctx: ctx, l: l, id: c.ID}, nil
}

// snapshotReader reads the parts of a snapshot one after another, in a read-only transaction.
type snapshotReader struct {
	ctx  context.Context //nolint:containedctx // an io.Reader takes none
	l    *Log
	tx   pgx.Tx // nil before the first Read
	id   uuid.UUID
	part int    // the next part, from 0
	rest []byte // of the last part, not yet returned by Read
}

// Read implements io.Reader.
func (r *snapshotReader) Read(p []byte) (n int, err error) {
	if r.tx == nil {
		err = r.l.try(r.ctx, func(ctx context.Context) error {
			r.tx, err = r.l.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
			return err
		})
		if err != nil {
			r.tx = nil
			return 0, err
		}
	}
	for len(r.rest) == 0 {
		err := r.tx.QueryRow(r.ctx, r.l.sql("SELECT data FROM %s.snapshot_parts WHERE id = $1 AND part = $2"), r.id, r.part).Scan(&r.rest)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && r.part == 0:
			return 0, fmt.Errorf("%w: another snapshot has replaced it", commitlog.ErrUnreachable)
		case errors.Is(err, pgx.ErrNoRows):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		r.part++
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *snapshotReader) Close() error {
	if r.tx == nil {
		return nil
	}
	return r.tx.Rollback(context.WithoutCancel(r.ctx))
}

// Lease implements commitlog.Log.
func (l *Log) Lease(ctx context.Context, owner string) (commitlog.Lease, error) {
	return first(query(ctx, l, pgx.RowToStructByPos[commitlog.Lease], "SELECT node, address, token, revision FROM %s.leases WHERE owner = $1", owner))
}

// query returns the rows of a query. %s stands for the schema.
func query[T any](ctx context.Context, l *Log, row pgx.RowToFunc[T], sql string, args ...any) (out []T, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		rows, err := l.pool.Query(ctx, l.sql(sql), args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, row)
		return err
	})
	return out, err
}

// first returns the first row of a query; the zero value if there is none.
func first[T any](rows []T, err error) (row T, _ error) {
	if err == nil && len(rows) > 0 {
		row = rows[0]
	}
	return row, err
}

// exec executes a statement. %s stands for the schema.
func (l *Log) exec(ctx context.Context, sql string, args ...any) error {
	return l.try(ctx, func(ctx context.Context) error {
		_, err := l.pool.Exec(ctx, l.sql(sql), args...)
		return err
	})
}

// SetLease implements commitlog.Log.
func (l *Log) SetLease(ctx context.Context, owner string, lease commitlog.Lease) (commitlog.Lease, error) {
	was := lease.Revision
	lease.Revision++
	repeated := false
	err := l.try(ctx, func(ctx context.Context) error {
		tag, err := l.pool.Exec(ctx, l.sql(`
			INSERT INTO %[1]s.leases SELECT $1, $2, $3, $4, $6::bigint WHERE $5::bigint = 0 OR EXISTS (SELECT 1 FROM %[1]s.leases WHERE owner = $1)
			ON CONFLICT (owner) DO UPDATE SET node = $2, address = $3, token = $4, revision = $6 WHERE leases.revision = $5`),
			owner, lease.Node, lease.Address, lease.Token, int64(was), int64(lease.Revision))
		if err != nil {
			repeated = repeated || passes(err)
			return err
		}
		if tag.RowsAffected() == 1 {
			return nil
		}
		if repeated { // an earlier attempt may have made this update
			if now, err := l.Lease(ctx, owner); err == nil && now == lease {
				return nil
			}
		}
		return commitlog.ErrFenced
	})
	if err != nil {
		return commitlog.Lease{}, err
	}
	return lease, nil
}

// Owners implements commitlog.Log.
func (l *Log) Owners(ctx context.Context) ([]string, error) {
	return query(ctx, l, pgx.RowTo[string], "SELECT DISTINCT owner FROM %s.records")
}

// Beat implements commitlog.Log.
func (l *Log) Beat(ctx context.Context, n commitlog.Node) error {
	return l.exec(ctx, `
		INSERT INTO %s.nodes VALUES ($1, $2, $3, 1)
		ON CONFLICT (id) DO UPDATE SET address = $2, version = $3, beats = nodes.beats + 1`, n.ID, n.Address, n.Version)
}

// Node implements commitlog.Log.
func (l *Log) Node(ctx context.Context, id string) (commitlog.Node, error) {
	return first(query(ctx, l, pgx.RowToStructByPos[commitlog.Node], "SELECT id, address, version, beats FROM %s.nodes WHERE id = $1", id))
}

// Leave implements commitlog.Log.
func (l *Log) Leave(ctx context.Context, id string) error {
	return l.exec(ctx, "DELETE FROM %s.nodes WHERE id = $1", id)
}

// Nodes implements commitlog.Log.
func (l *Log) Nodes(ctx context.Context) ([]commitlog.Node, error) {
	return query(ctx, l, pgx.RowToStructByPos[commitlog.Node], "SELECT id, address, version, beats FROM %s.nodes")
}

// Health implements commitlog.Log.
func (l *Log) Health(ctx context.Context) (text string, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		var version, commit string
		var records, standbys, sync int64
		var size int64
		err := l.pool.QueryRow(ctx, l.sql(`
			SELECT current_setting('server_version'), current_setting('synchronous_commit'),
				(SELECT count(*) FROM %[1]s.records), (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r'),
				(SELECT count(*) FROM pg_stat_replication), (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))`), l.schema).
			Scan(&version, &commit, &records, &size, &standbys, &sync)
		text = fmt.Sprintf("PostgreSQL %s, %d records, tables of %d MiB, %d standbys of which %d are synchronous", version, records, size>>20, standbys, sync)
		if commit == "off" || commit == "local" {
			text += "; synchronous_commit is " + commit + ", so a crash may lose what was acknowledged"
		}
		return err
	})
	return text, err
}

// Close implements commitlog.Log.
func (l *Log) Close() error {
	l.pool.Close()
	return nil
}
