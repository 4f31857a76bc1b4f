package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// harvested makes a session that was ended and harvested now.
func (k *kit) harvested(id string, why session.Reason) {
	k.Helper()
	entries, err := k.journal.Append(k.Context(), session.About{ID: id}, []ken.Message{{Role: "user", Text: "hello from " + id}})
	k.must(err)
	_, err = k.journal.End(k.Context(), id, why)
	k.must(err)
	k.must(k.journal.Harvested(k.Context(), id, entries[len(entries)-1].Seq, session.Outcome{}))
}

func TestJournalsGoAfterTheirGraceAndSessionsLater(t *testing.T) {
	each(t, func(k *kit) {
		k.harvested("session-one", session.Closed)
		_, err := k.journal.Append(k.Context(), session.About{ID: "session-open"}, []ken.Message{{Role: "user", Text: "still here"}})
		k.must(err)
		p := lifecycle.Default()
		p.DoneJobsDays = lifecycle.Never
		k.set(epoch.Add(7*day - time.Second))
		if got := rows(k.plan(p)); got != "" {
			k.Fatalf("too early: %s", got)
		}
		k.set(epoch.Add(7 * day))
		changes := k.plan(p)
		if got := rows(changes); got != "delete ephemeral journal harvested>deleted" || changes[0].ID != "session-one" {
			k.Fatalf("got %s", got)
		}
		k.apply(changes)
		tr, err := k.journal.Read(k.Context(), "session-one")
		if err != nil || len(tr.Entries) != 0 {
			k.Errorf("%d messages are left, %v", len(tr.Entries), err)
		}
		if tr, err = k.journal.Read(k.Context(), "session-open"); err != nil || len(tr.Entries) != 1 {
			k.Errorf("the open session has %d messages, %v", len(tr.Entries), err)
		}
		if again := k.plan(p); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
		k.set(epoch.Add(366 * day))
		changes = k.plan(p)
		if got := rows(changes); got != "delete ephemeral session harvested>deleted" {
			k.Fatalf("a year later: %s", got)
		}
		k.apply(changes)
		if _, err := k.journal.Info(k.Context(), "session-one"); !errors.Is(err, ken.ErrNotFound) {
			k.Errorf("the session is still known: %v", err)
		}
		if again := k.plan(p); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
	})
}

// A project that nobody opened for a year is tidied in one go.
func TestJournalAndSessionAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		k.harvested("session-one", session.Closed)
		k.harvested("session-gone", session.Deleted)
		p := lifecycle.Default()
		p.DoneJobsDays = lifecycle.Never
		changes := k.plan(p)
		if len(changes) != 1 || changes[0].ID != "session-gone" { // a deleted one has no grace
			k.Fatalf("at once: %s", rows(changes))
		}
		k.set(epoch.Add(400 * day))
		changes = k.plan(p)
		if len(changes) != 4 {
			k.Fatalf("got %s", rows(changes))
		}
		if r := k.apply(changes); len(r.Done) != 4 {
			k.Errorf("report %+v", r)
		}
		if list, err := k.journal.List(k.Context()); err != nil || len(list) != 0 {
			k.Errorf("%+v, %v", list, err)
		}
	})
}

func TestDoneJobsGoAndOthersStay(t *testing.T) {
	each(t, func(k *kit) {
		for _, key := range []string{"good", "bad", "waits"} {
			n := jobs.New{Kind: key, Key: key}
			_, _, err := k.queue.Add(k.Context(), n)
			k.must(err)
		}
		_, err := k.queue.Drain(k.Context(), map[string]jobs.Handler{
			"good": func(context.Context, jobs.Job, func(string, int, int)) (string, error) { return "done", nil },
			"bad": func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
				return "", jobs.Permanent(errors.New("no"))
			},
		})
		k.must(err)
		k.set(epoch.Add(30*day - time.Second))
		if got := rows(k.plan(lifecycle.Default())); got != "" {
			k.Fatalf("too early: %s", got)
		}
		k.set(epoch.Add(31 * day))
		changes := k.plan(lifecycle.Default())
		if got := rows(changes); got != "delete ephemeral job done>deleted" || !strings.Contains(changes[0].What, "good") {
			k.Fatalf("got %s", got)
		}
		k.apply(changes)
		k.apply(changes) // a second time is no error
		left, err := k.queue.List(k.Context())
		if err != nil || len(left) != 2 {
			k.Errorf("left are %+v, %v", left, err)
		}
		if again := k.plan(lifecycle.Default()); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
	})
}

func TestOldEventFilesGo(t *testing.T) {
	each(t, func(k *kit) {
		file := func(name string, age time.Duration) string {
			path := filepath.Join(k.deps.EventsDir, name)
			k.must(os.WriteFile(path, []byte("{}\n"), 0o600))
			k.must(os.Chtimes(path, epoch.Add(-age), epoch.Add(-age)))
			return path
		}
		old, touched := file("old.jsonl", 91*day), file("touched.jsonl", 91*day)
		kept := []string{touched, file("new.jsonl", 89*day), file("notes.txt", 900*day)}
		folder := filepath.Join(k.deps.EventsDir, "folder.jsonl")
		k.must(os.Mkdir(folder, 0o700))
		k.must(os.Chtimes(folder, epoch.Add(-900*day), epoch.Add(-900*day)))
		kept = append(kept, folder)
		if err := os.Symlink(kept[2], filepath.Join(k.deps.EventsDir, "link.jsonl")); err != nil {
			k.Log("no links here")
		}
		changes := k.plan(lifecycle.Default())
		if len(changes) != 2 || changes[0].ID != old || changes[0].Why != "last event 91 days ago" {
			k.Fatalf("got %+v", changes)
		}
		k.must(os.Chtimes(touched, epoch, epoch)) // the session goes on
		if r := k.apply(changes); len(r.Done) != 1 || len(r.Skipped) != 1 {
			k.Errorf("report %+v", r)
		}
		if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
			k.Errorf("it is still there: %v", err)
		}
		for _, path := range kept {
			if _, err := os.Stat(path); err != nil {
				k.Error(err)
			}
		}
		k.apply(changes)
		k.deps.EventsDir = filepath.Join(k.deps.EventsDir, "never")
		if again := k.plan(lifecycle.Default()); len(again) != 0 {
			k.Errorf("without a folder: %s", rows(again))
		}
	})
}

// Entries of files that are gone stay as long as a claim rests on them: without
// the entry, it would seem to stand.
func TestOrphansOfFilesGoUnlessCited(t *testing.T) {
	s := openBolt(t, func() time.Time { return epoch })
	k := &kit{T: t, stock: s, deps: lifecycle.Deps{Store: s, Documents: s, Now: func() time.Time { return epoch }}}
	file := func(path string) store.Document {
		e := ken.FromFile(path, "", "")
		e.ContentHash = "sha256:" + path
		c, err := ken.NewClaim("chunk of "+path, e)
		k.must(err)
		c.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(path)).String()
		return store.Document{Path: path, Known: store.Known{Hash: e.ContentHash}, Chunks: []ken.Claim{c}}
	}
	k.must(s.PutDocuments(t.Context(), []store.Document{file("cited.go"), file("gone.go"), file("there.go")}))
	cited := ken.FromFile("cited.go", "", "")
	cited.ContentHash = "sha256:cited.go"
	id := k.write("it listens on 8080", func(c *ken.Claim) { c.Evidence = []ken.Evidence{cited} })
	k.must(s.RemoveDocuments(t.Context(), []string{"cited.go", "gone.go"}))
	changes := k.plan(lifecycle.Default())
	if len(changes) != 1 || changes[0].Rule != lifecycle.PruneOrphans || changes[0].ID != "gone.go" {
		t.Fatalf("got %+v", changes)
	}
	for range 2 {
		k.apply(changes)
	}
	if again := k.plan(lifecycle.Default()); len(again) != 0 {
		t.Errorf("planned again: %s", rows(again))
	}
	if tier := tierOf(t, s, id); tier != ken.Guessed {
		t.Errorf("the claim that cites a file that is gone is %s", tier)
	}
	if known, err := s.DocumentHashes(t.Context()); err != nil || len(known) != 1 {
		t.Errorf("known are %v, %v", known, err)
	}
	k.must(s.PutDocuments(t.Context(), []store.Document{file("gone.go")})) // it comes back
	if n, err := s.PruneOrphans(t.Context(), []string{"gone.go", "cited.go", "never.go"}); err != nil || n != 0 {
		t.Errorf("pruned %d, %v", n, err)
	}
}

func tierOf(t *testing.T, s *bolt.Store, id string) ken.Tier {
	t.Helper()
	for ref := range s.Refs() {
		if row, ok := s.Row(store.Ref(ref)); ok && row.ID == id {
			return row.Support.Tier
		}
	}
	t.Fatalf("no claim %s", id)
	return 0
}
