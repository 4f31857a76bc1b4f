package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// eventsSuffix is the suffix of the files that package telemetry writes.
const eventsSuffix = ".jsonl"

// Kinds of ephemeral state.
const (
	kindJournal = "journal"
	kindSession = "session"
	kindJob     = "job"
	kindEvents  = "events"
)

// journals plans the deletion of messages of harvested sessions, and later of the
// session records. It follows the rules of session.Journal.
func (w *planner) journals(ctx context.Context) error {
	if w.d.Journal == nil {
		return nil
	}
	infos, err := w.d.Journal.List(ctx)
	if err != nil {
		return err
	}
	old, prune := cutoff(w.now, w.p.SessionsDays)
	for i := range infos {
		s := &infos[i]
		since, over := harvested(s)
		swept := over && s.Messages == 0
		if due := since.Add(w.p.JournalGrace()); over && !swept && w.p.JournalGraceDays >= 0 && (!due.After(w.now) || s.Reason == session.Deleted && s.State == session.Harvested) {
			swept = true
			w.add(Change{Rule: DeleteEphemeral, Kind: kindJournal, ID: s.ID, What: fmt.Sprintf("%d messages of session %s", s.Messages, s.ID),
				From: string(s.State), To: "deleted", Why: string(s.State) + " " + sinceText(w.now, since), Due: due, grace: w.p.JournalGrace()})
		}
		last := s.Active
		if s.Harvested.After(last) {
			last = s.Harvested
		}
		if prune && swept && last.Before(old) {
			w.add(Change{Rule: DeleteEphemeral, Kind: kindSession, ID: s.ID, What: "what is known of session " + s.ID, From: string(s.State), To: "deleted",
				Why: "last active " + sinceText(w.now, s.Active), Due: last.Add(days(w.p.SessionsDays)), before: old})
		}
	}
	return nil
}

// harvested reports whether a session's messages are no longer needed, and since when.
func harvested(s *session.Info) (time.Time, bool) {
	switch {
	case s.State == session.Harvested:
		return s.Harvested, true
	case s.State == session.Failed && s.Reason == session.Deleted:
		return s.Ended, true
	}
	return time.Time{}, false
}

func (w *planner) jobs(ctx context.Context) error {
	old, on := cutoff(w.now, w.p.DoneJobsDays)
	if w.d.Queue == nil || !on {
		return nil
	}
	done, err := w.d.Queue.List(ctx, jobs.Done)
	if err != nil {
		return err
	}
	for i := range done {
		j := &done[i]
		if j.Finished.After(old) {
			continue
		}
		w.add(Change{Rule: DeleteEphemeral, Kind: kindJob, ID: j.ID, What: "job " + j.Kind + " " + oneLine(j.Key), From: string(j.State), To: "deleted",
			Why: "done " + sinceText(w.now, j.Finished), Due: j.Finished.Add(days(w.p.DoneJobsDays))})
	}
	return nil
}

func (w *planner) events(ctx context.Context) error {
	old, on := cutoff(w.now, w.p.EventsDays)
	if w.d.EventsDir == "" || !on {
		return nil
	}
	entries, err := os.ReadDir(w.d.EventsDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || filepath.Ext(e.Name()) != eventsSuffix || info.ModTime().After(old) {
			continue
		}
		w.add(Change{Rule: DeleteEphemeral, Kind: kindEvents, ID: filepath.Join(w.d.EventsDir, e.Name()), What: fmt.Sprintf("%s, %d bytes", e.Name(), info.Size()),
			From: "file", To: "deleted", Why: "last event " + sinceText(w.now, info.ModTime()), Due: info.ModTime().Add(days(w.p.EventsDays)), before: old})
	}
	return nil
}

// kindRecord is the kind of a decision's file. A decision that is a claim has the
// claim's kind.
const kindRecord = "record"

// records plans the move of superseded decisions' files to the archive. No field says
// when a decision was superseded, so the file's modification time counts.
func (w *planner) records(context.Context) error {
	limit, on := cutoff(w.now, w.p.ArchiveDecisionsDays)
	if w.d.Decisions == nil || !on {
		return nil
	}
	for _, r := range w.d.Decisions.List() {
		if r.Archived || r.Status != decision.Superseded || r.ModTime.After(limit) {
			continue
		}
		why := "superseded"
		if len(r.SupersededBy) > 0 {
			why += " by " + oneLine(r.SupersededBy[0].Text)
		}
		w.add(Change{Rule: ArchiveDecisions, Kind: kindRecord, ID: r.Path, What: oneLine(r.Handle + ": " + r.Title.Text), From: string(r.Status), To: "archived",
			Why: why + "; last changed " + sinceText(w.now, r.ModTime), Due: r.ModTime.Add(days(w.p.ArchiveDecisionsDays)), hash: r.Hash})
	}
	return nil
}

// archiveRecord archives a decision's file, if it has not changed since the plan.
func (a *applier) archiveRecord(ctx context.Context, c *Change) (bool, error) {
	if a.d.Decisions == nil {
		return false, nil
	}
	r, err := a.d.Decisions.Find(c.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound): // moved or deleted meanwhile
		return false, nil
	case err != nil:
		return false, err
	case r.Archived:
		return true, nil
	case r.Path != c.ID || r.Status != decision.Superseded || !a.linked[c.ID] && r.Hash != c.hash:
		return false, nil
	}
	was := map[string]string{}
	for _, r := range a.d.Decisions.List() {
		was[r.Path] = r.Hash
	}
	if _, err = a.d.Decisions.Archive(ctx, r.Path); err != nil {
		return false, err
	}
	// Archiving updates links in other records, which does not count as a change of
	// them.
	for _, r := range a.d.Decisions.List() {
		if h, known := was[r.Path]; known && h != r.Hash {
			a.linked[r.Path] = true
		}
	}
	return true, nil
}
