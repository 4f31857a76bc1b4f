package harvest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// TestMain also runs as the child process of the tests that need a second process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KEN_TEST_DIR"); dir != "" {
		childHarvester(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// monday is the time at which tests begin.
var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// claims is a store whose claims tests can read.
type claims interface {
	harvest.Store
	store.Projections
	Shelf() store.Shelf
}

// rig holds a store and what harvests the sessions in it.
type rig struct {
	clock   *clock
	store   claims
	journal *session.Journal
	queue   *jobs.Queue
	*harvest.Harvester
}

func newRig(t testing.TB, change ...func(*harvest.Options)) *rig {
	t.Helper()
	c := &clock{at: monday}
	return newRigOver(t, c, memory.New(memory.Options{Now: c.now}), change...)
}

// noneAlive is jobs.Options.Alive for tests in which every other process was killed.
func noneAlive(string) bool { return false }

// newRigOver returns a rig over an existing store.
func newRigOver(t testing.TB, c *clock, s claims, change ...func(*harvest.Options)) *rig {
	t.Helper()
	tools, err := finding.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{clock: c, store: s, journal: session.NewJournal(s.Shelf(), session.Options{Process: "p1", Now: c.now}),
		queue: jobs.NewQueue(s.Shelf(), jobs.Options{Process: "p1", Alive: noneAlive, Now: c.now})}
	o := harvest.Options{Store: s, Journal: r.journal, Tools: tools, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	r.Harvester = harvest.New(o)
	return r
}

// say journals messages a minute apart, each in its own turn.
func (r *rig) say(t testing.TB, id string, msgs ...ken.Message) {
	t.Helper()
	for i := range msgs {
		r.clock.pass(time.Minute)
		if _, err := r.journal.Append(t.Context(), about(id), msgs[i:i+1]); err != nil {
			t.Fatalf("append to %s: %v", id, err)
		}
	}
}

// inject records the items that were injected.
func (r *rig) inject(t testing.TB, id string, items ...ken.Item) {
	t.Helper()
	if err := r.journal.Injected(t.Context(), id, items); err != nil {
		t.Fatal(err)
	}
}

func about(id string) session.About {
	return session.About{ID: id, Project: "billing", Branch: "main", Agent: "coder", Scope: scope, Scopes: []ken.Scope{scope}}
}

var scope = ken.Scope{Type: ken.ScopeRepo, ID: "example.com/billing"}

// end ends a session and runs its job, which must succeed.
func (r *rig) end(t testing.TB, id string) session.Outcome {
	t.Helper()
	r.clock.pass(time.Minute)
	if _, err := r.journal.End(t.Context(), id, session.Closed); err != nil {
		t.Fatal(err)
	}
	r.drain(t)
	info, err := r.journal.Info(t.Context(), id)
	if err != nil || info.State != session.Harvested || info.Outcome == nil {
		t.Fatalf("session %s: %+v, %v", id, info, err)
	}
	return *info.Outcome
}

func (r *rig) drain(t testing.TB) jobs.Report {
	t.Helper()
	report, err := r.queue.Drain(t.Context(), r.handlers())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range report.Jobs {
		if j.State != jobs.Done {
			t.Fatalf("job %s is %s: %s", j.Key, j.State, j.Error)
		}
	}
	return report
}

func (r *rig) handlers() map[string]jobs.Handler {
	return map[string]jobs.Handler{session.JobHarvest: r.Handle}
}

// all returns the claims of every status, oldest first.
func (r *rig) all(t testing.TB) []ken.Claim { return everything(t, r.store) }

func everything(t testing.TB, s ken.Store) []ken.Claim {
	t.Helper()
	all, err := s.Query(context.Background(), ken.Query{Limit: 1 << 20, Filter: ken.Filter{Statuses: ken.Statuses()}})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b ken.Claim) int { return strings.Compare(a.Key+a.ID, b.Key+b.ID) })
	return all
}

// kind returns the claims of a kind.
func (r *rig) kind(t testing.TB, k ken.Kind) []ken.Claim {
	return slices.DeleteFunc(r.all(t), func(c ken.Claim) bool { return c.Kind != k })
}

// find returns the only claim whose text contains words.
func (r *rig) find(t testing.TB, words string) ken.Claim {
	t.Helper()
	var found []ken.Claim
	for _, c := range r.all(t) {
		if c.Kind != ken.KindEpisode && strings.Contains(c.Text, words) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d claims say %q: %s", len(found), words, texts(found))
	}
	return found[0]
}

func texts(list []ken.Claim) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "\n%s %s: %s", c.Status, c.Kind, c.Text)
	}
	return b.String()
}

// state returns the content of a store as text: the claims and their histories, with keys
// instead of ids, so that stores with the same content have the same text.
func state(t testing.TB, s harvest.Store) string {
	t.Helper()
	all := everything(t, s)
	names := []string{}
	for _, c := range all {
		names = append(names, c.ID, "<"+c.Key+">")
	}
	rename := strings.NewReplacer(names...)
	var b strings.Builder
	for _, c := range all {
		events, err := s.History(context.Background(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", rename.Replace(string(raw)))
		for _, e := range events {
			fmt.Fprintf(&b, "    %s %s→%s %s %q %s\n", e.Type, e.From, e.To, e.Actor.ID, rename.Replace(e.Reason), rename.Replace(e.Other))
		}
	}
	return b.String()
}

// words returns all stored text: of claims, journals and jobs.
func (r *rig) words(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(state(t, r.store))
	err := r.store.Shelf().View(t.Context(), func(rd store.ShelfReader) error {
		for key, v := range rd.Scan("") {
			fmt.Fprintf(&b, "%s %s\n", key, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func user(text string) ken.Message      { return ken.Message{Role: "user", Text: text} }
func assistant(text string) ken.Message { return ken.Message{Role: "assistant", Text: text} }
func tool(id, text string) ken.Message {
	return ken.Message{Role: "tool", ToolCallID: id, Text: text}
}
func calls(id, name, args string) ken.Message {
	return ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: name, Arguments: args}}}
}
func bash(id, command string) ken.Message {
	return calls(id, "Bash", fmt.Sprintf(`{"command": %q}`, command))
}

// coding returns the messages of a session of work: a decision, a preference, an
// instruction, a command that works, one that keeps failing, and files read and written.
func coding() []ken.Message {
	return []ken.Message{
		user("The nightly export of the billing service drops rows. Find out why, please."),
		calls("c1", "Read", `{"file_path": "billing/export.go"}`),
		tool("c1", "     1\tpackage billing\n     2\t\n     3\tfunc Export() error { return nil }\n"),
		bash("c2", "make lint"),
		tool("c2", "billing/export.go:3:1: error: missing doc\nmake: *** [lint] Error 1\nexit code: 2"),
		bash("c3", "make lint"),
		tool("c3", "billing/export.go:3:1: error: missing doc\nmake: *** [lint] Error 1\nexit code: 2"),
		calls("c4", "Edit", `{"file_path": "billing/export.go", "old_string": "return nil", "new_string": "return stream()"}`),
		tool("c4", "The file billing/export.go has been updated."),
		calls("c5", "Edit", `{"file_path": "billing/export.go", "old_string": "stream()", "new_string": "stream(ctx)"}`),
		tool("c5", "The file billing/export.go has been updated."),
		bash("c6", "go test ./billing/..."),
		tool("c6", "ok  \texample.com/billing/billing\t0.201s\n[exit code: 0]"),
		assistant("The batch border dropped the last customer; rows are streamed now."),
		user("Good. We decided to drop Oracle and keep PostgreSQL 16, because nobody can run Oracle locally."),
		assistant("Noted."),
		user("I prefer tabs over spaces in SQL files. Never commit directly to main: always open a pull request."),
		user("Remember that deploys happen on Tuesdays after 14:00. The staging database is pg-stage-2."),
		assistant("Understood. Next: add a test for an empty customer list."),
	}
}
