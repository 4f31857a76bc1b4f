package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// What share of the questions' evidence sessions the harvested knowledge brings
// back alone, in a block of 6,000 characters, without a model; and what the index
// of all raw messages does. The table shows what each limit of statements costs:
//
//	go test ./internal/harvest/extract -run Recall -v
//
// message and answer are 0 where a set doesn't name them. The floors are a little below what was reached. Without -v, only the default is
// measured against them.
func TestRecall(t *testing.T) {
	race.SkipLong(t)
	if testing.Short() {
		t.Skip("some thousand turns")
	}
	for _, tt := range []struct {
		load                     func(testing.TB) *corpus
		session, message, answer float64
		claims                   float64 // a session, at most
	}{
		{locomo, 0.86, 0.66, 0.64, 20},
		{longmemeval, 0.84, 0, 0.4, 12},
		{beam, 0.85, 0.42, 0, 28},
	} {
		c := tt.load(t)
		t.Run(c.name, func(t *testing.T) {
			t.Logf("%-10s %7s %5s %5s %7s %6s %6s | %6s %6s", "", "session", "any", "all", "message", "answer", "silent", "claims", "chars")
			show := func(name string, r *remembered, sessions int) figures {
				f := ask(t, c, r)
				t.Logf("%-10s %7.3f %5.3f %5.3f %7.3f %6.3f %6.3f | %6.1f %6d", name, f.session, f.any, f.all, f.message, f.answer, f.silent,
					float64(f.claims)/float64(sessions), f.chars/sessions)
				return f
			}
			for _, limit := range []int{0, 12, 24, 1 << 20} {
				if limit != 0 && !testing.Verbose() {
					continue
				}
				r, sessions := harvested(c, func(tr *session.Transcript) draft.Draft { return extract.Draft(tr, extract.Options{MaxFacts: limit}) })
				name := map[int]string{0: "default", 1 << 20: "no limit"}[limit]
				if name == "" {
					name = fmt.Sprint(limit, " facts")
				}
				f := show(name, r, sessions)
				if limit != 0 {
					continue
				}
				if f.session < tt.session || f.message < tt.message || f.answer < tt.answer {
					t.Errorf("sessions %.3f, messages %.3f, answers %.3f; want at least %.2f, %.2f, %.2f", f.session, f.message, f.answer, tt.session, tt.message, tt.answer)
				}
				if n := float64(f.claims) / float64(sessions); n > tt.claims {
					t.Errorf("%.1f claims a session, want at most %.0f", n, tt.claims)
				}
			}
			if testing.Verbose() {
				show("raw", raw(c), sessionsOf(c))
			}
		})
	}
}

func sessionsOf(c *corpus) (n int) {
	for _, owner := range c.owners {
		n += len(c.sessions[owner])
	}
	return n
}

// What holds for every statement, on all real sessions.
func TestStatementsOfRealSessions(t *testing.T) {
	race.SkipLong(t)
	for _, load := range []func(testing.TB) *corpus{locomo, longmemeval, beam, hermes} {
		c := load(t)
		t.Run(c.name, func(t *testing.T) {
			statements := 0
			for _, owner := range c.owners {
				for i := range c.sessions[owner] {
					tr := &c.sessions[owner][i]
					d := extract.Draft(tr, extract.Options{})
					holds(t, tr, d, extract.Options{})
					statements += len(d.Statements)
					for _, s := range d.Statements {
						for _, junk := range []string{"?", "```", "://", "[redacted:", "[image", "conversation above", "⚠"} {
							if strings.Contains(s.Text, junk) && !(junk == "://" && strings.Contains(s.Text, "User: ")) {
								t.Errorf("%s: %q", tr.Info.ID, s.Text)
							}
						}
					}
				}
			}
			if statements < sessionsOf(c) {
				t.Errorf("%d statements of %d sessions", statements, sessionsOf(c))
			}
			t.Logf("%d statements of %d sessions", statements, sessionsOf(c))
		})
	}
}
