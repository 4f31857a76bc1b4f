package faults

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Environment variables that make the test binary a worker: the project's folder, and a name
// that is unique in the run.
const (
	workerDir  = "KEN_FAULTS_DIR"
	workerName = "KEN_FAULTS_NAME"
)

// A worker prints a line before it begins a change, and another one when it is acknowledged:
//
//	begin learn MARKER
//	done learn MARKER ID
//	begin forget MARKER ID...
//	done forget MARKER ID...
//	turn MICROSECONDS MODE
//	error CHANGE MARKER: CAUSE
//
// A number on its standard input sets by how many seconds its clock is wrong. The worker ends
// at the end of the input.

// Words from which facts are built. No two facts of a run have the same subject, so that
// forgetting one does not forget another.
var (
	nouns = strings.Fields("exporter warehouse gateway scheduler mailer indexer ledger catalogue billing search " +
		"checkout inventory telemetry archive proxy broker resolver planner renderer importer notifier crawler vault registry console")
	places = strings.Fields("Lisbon Oslo Tallinn Quito Nairobi Osaka Perth Lima Dakar Hanoi Turin Malmo Porto Graz Basel " +
		"Leeds Cork Ghent Riga Sofia Varna Split Brno Lodz Kiel Metz Nice Bari Vigo Cadiz")
	facts = []string{"The %s in %s listens on port %%s.", "Backups of the %s in %s go to bucket %%s.", "The certificate of the %s in %s is %%s.",
		"Team %%s owns the %[1]s in %[2]s.", "The %s in %s was migrated under ticket %%s.", "The %s in %s reads its rates from feed %%s."}
)

// sentence returns the text of fact i of a worker, with %s for the marker, and a question about
// the fact that does not contain the marker.
func sentence(name string, i int) (fact, question string) {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "w"))
	at := n*1009 + i*31
	noun, place := nouns[at%len(nouns)], places[at/len(nouns)%len(places)]
	return fmt.Sprintf(facts[(n+i/2)%len(facts)], noun, place), fmt.Sprintf("What do we know of the %s in %s?", noun, place)
}

// worker is an agent's process: it learns, asks and forgets.
type worker struct {
	name  string
	layer *middleware.Layer
	skew  atomic.Int64 // seconds
	known []fact       // what it has learned and not forgotten
}

type fact struct{ id, marker string }

func work(dir, name string) int {
	w := &worker{name: name}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			var seconds int64
			_, _ = fmt.Sscan(in.Text(), &seconds)
			w.skew.Store(seconds)
		}
		stop()
	}()
	cfg := config.Default()
	var err error
	w.layer, err = middleware.Open(ctx, middleware.Options{Root: dir, Config: &cfg,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Now: func() time.Time { return time.Now().Add(time.Duration(w.skew.Load()) * time.Second) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, "open:", err)
		return 1
	}
	fmt.Println("ready")
	for i := 0; ctx.Err() == nil; i++ {
		switch {
		case i%8 == 5 && len(w.known) > 6:
			w.forget(ctx)
		case i%2 == 1:
			w.ask(ctx, i)
		default:
			w.learn(ctx, i)
		}
		if i%40 == 39 {
			_ = w.layer.End(ctx, "", w.session(i))
		}
	}
	if err := w.layer.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close:", err)
	}
	return 0
}

func (w *worker) session(i int) string { return fmt.Sprintf("%s-%d", w.name, i/40) }

// learn writes a fact. While it fails, it repeats the write with the same name, as a client does
// after an error.
func (w *worker) learn(ctx context.Context, i int) {
	marker := fmt.Sprintf("zq%sn%dx", w.name, i)
	text, _ := sentence(w.name, i)
	c, err := ken.NewClaim(fmt.Sprintf(text, marker), ken.FromUserStatement(w.session(i), ""))
	if err != nil {
		panic(err)
	}
	fmt.Println("begin learn", marker)
	ctx = store.WithCommit(ctx, uuid.Must(uuid.NewV7()))
	w.insist(ctx, "learn", marker, func() error {
		s, release, err := w.layer.Store(ctx, "")
		if err != nil {
			return err
		}
		defer release()
		id, err := s.WriteClaim(ctx, c)
		if err == nil {
			w.known = append(w.known, fact{id, marker})
			fmt.Println("done learn", marker, id)
		}
		return err
	})
}

func (w *worker) forget(ctx context.Context) {
	f := w.known[0]
	w.known = w.known[1:]
	fmt.Println("begin forget", f.marker)
	w.insist(ctx, "forget", f.marker, func() error {
		gone, err := w.layer.Forget(ctx, "", f.id, "it is wrong", ken.Actor{Type: "user", ID: w.name})
		if err == nil {
			fmt.Println("done forget", f.marker, strings.Join(gone.Claims, " "))
		} else if len(gone.Claims) > 0 {
			fmt.Println("begin forget", f.marker, strings.Join(gone.Claims, " "))
		}
		return err
	})
}

// insist repeats a change until it succeeds, at most twenty times.
func (w *worker) insist(ctx context.Context, what, marker string, try func() error) {
	for range 20 {
		err := try()
		if err == nil || ctx.Err() != nil {
			return
		}
		fmt.Printf("error %s %s: %s\n", what, marker, strings.ReplaceAll(err.Error(), "\n", "; "))
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// ask makes a turn of a conversation, whose text contains no marker.
func (w *worker) ask(ctx context.Context, i int) {
	_, question := sentence(w.name, max(i-1, 0)) // about the fact that was learned last
	t := ken.Turn{Session: w.session(i), Messages: []ken.Message{
		{Role: "user", Text: question}}}
	start := time.Now()
	a := w.layer.Assemble(ctx, t)
	fmt.Println("turn", time.Since(start).Microseconds(), a.Receipt.Mode)
	w.layer.Answered(t, ken.Message{Role: "assistant", Text: "It is as the knowledge says."})
}
