// Package life tests the whole layer over weeks of work: turns, session ends, the
// stored claims, and the blocks of later sessions. It only has tests; their results
// are in the README.
package life

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/simulate"
	"github.com/kenlayer/ken/middleware"
)

// After two months of work on one repository, the store is small and has
// neither junk nor duplicates. Junk is what simulate.Junk says it is.
//
//	go test -run SixtySessions -v ./internal/evals/life
func TestSixtySessionsOfWorkLeaveASmallStoreWithoutJunk(t *testing.T) {
	race.SkipLong(t)
	const seed, sessions = 1, 60
	var c clock
	c.set(time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC))
	injected := map[string]bool{}
	turns, blocks, told := 0, 0, 0
	cfg := config.Default()
	cfg.Retrieval.Deadline = 30 * time.Second // a slow machine must not change the figures
	cfg.Repository.Index = false              // the script's files are not on the disk
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Config: &cfg, Strict: true, Foreground: true,
		Now: c.now,
		OnReceipt: func(_ context.Context, r ken.Receipt) {
			if turns++; r.Block != "" {
				blocks++
			}
			for _, it := range r.Items {
				injected[it.ID] = true
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, messages := range simulate.Sessions(seed, sessions) {
		turn := ken.Turn{Session: fmt.Sprintf("day-%02d", i+1), Agent: "coder"}
		for n, m := range messages {
			if m.Role == "user" {
				turn.Messages = messages[:n+1]
				l.Assemble(t.Context(), turn)
				c.pass(2 * time.Minute)
			}
		}
		turn.Messages = messages // as a client sends them that goes on
		l.Assemble(t.Context(), turn)
		if err := l.End(t.Context(), "", turn.Session); err != nil {
			t.Fatal(err)
		}
		report, err := l.Harvest(t.Context(), "")
		if err != nil || report.Done != 1 {
			t.Fatalf("%s: %+v, %v", turn.Session, report, err)
		}
		switch s, err := l.Operator().Journal("").Info(t.Context(), turn.Session); {
		case err != nil:
			t.Fatal(err)
		case s.Outcome.Episode == "":
			t.Logf("%s has no episode: %s: %q", turn.Session, s.Outcome.Note, messages)
		default:
			told++
		}
		c.set(c.now().Truncate(24 * time.Hour).Add(33 * time.Hour)) // the next morning
	}

	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var standing []ken.Claim
	kinds, junk, used, total := map[ken.Kind]int{}, map[string]int{}, 0, 0
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		total++
		if c.Status == ken.StatusSuperseded {
			continue
		}
		standing = append(standing, c)
		kinds[c.Kind]++
		if why, bad := simulate.Junk(&c); bad {
			junk[why]++
			t.Logf("junk (%s): %s %q", why, c.Kind, c.Text)
		}
		if injected[c.ID] {
			used++
		}
	}
	repeats := simulate.Repeats(standing)
	for _, i := range repeats {
		t.Logf("said twice: %s %q", standing[i].Kind, standing[i].Text)
	}
	bad := 0
	for _, n := range junk {
		bad += n
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(len(standing)) }
	t.Logf("%d sessions, %d turns, %d with a block", sessions, turns, blocks)
	t.Logf("%d claims, %d standing, %.1f a session: %v", total, len(standing), float64(len(standing))/sessions, kinds)
	t.Logf("ever injected: %.0f %% of all, candidates not counted %.0f %%", share(used), 100*float64(used)/float64(len(standing)-candidates(standing)))
	t.Logf("said twice: %d; junk: %.1f %% %v", len(repeats), share(bad), junk)
	switch {
	case len(standing) > 6*sessions:
		t.Errorf("%d claims of %d sessions", len(standing), sessions)
	case share(bad) >= 5:
		t.Errorf("%.1f %% junk", share(bad))
	case len(repeats) > 0:
		t.Errorf("%d claims are said twice", len(repeats))
	case told < sessions-6: // days of small talk and of questions alone have none; the same work twice has one
		t.Errorf("%d sessions are told by %d episodes", told, kinds[ken.KindEpisode])
	}
}

func candidates(claims []ken.Claim) int {
	return len(slices.DeleteFunc(slices.Clone(claims), func(c ken.Claim) bool { return c.Status != ken.StatusHypothesis }))
}
