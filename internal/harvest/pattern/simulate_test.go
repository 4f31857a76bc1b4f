package pattern

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/simulate"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/clean"
)

// transcript is a simulated session as its journal keeps it.
func transcript(s simulate.Session) *session.Transcript {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: s.ID, Project: "paylane", Agent: s.Agent}}}
	for i, m := range s.Messages {
		m.Text = clean.Text(m.Text)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Arguments = clean.Text(m.ToolCalls[j].Arguments)
		}
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: s.Start.Add(time.Duration(i) * simulate.Step), Message: m, Files: s.Files[i]})
	}
	return tr
}

// Sixty sessions of daily work leave a list that a person can review: what recurs
// is one candidate each time, and none is junk.
func TestSixtySessions(t *testing.T) {
	const sessions = 60
	known := map[string]ken.Claim{}
	seen := map[string]int{}
	total, junk := 0, 0
	for _, s := range simulate.Work(1, sessions) {
		for _, c := range Extract(transcript(s), finding.Tools{}) {
			total++
			seen[c.Key]++
			known[c.Key] = c
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var list []ken.Claim
	for _, c := range known {
		list = append(list, c)
		if why, is := simulate.Junk(&c); is {
			junk++
			t.Logf("junk (%s): %s", why, c.Text)
		}
		for _, s := range []string{"v3ry", "sk_live", "/home/ada", "/tmp/", "4711"} {
			if strings.Contains(c.Text, s) {
				t.Errorf("%q in %q", s, c.Text)
			}
		}
	}
	repeats := len(simulate.Repeats(list))
	again := 0
	for _, n := range seen {
		if n > 1 {
			again++
		}
	}
	t.Logf("%d sessions: %d patterns (%.1f a session), %d candidates, %d of them seen in more than one session, %d junk, %d repeats",
		sessions, total, float64(total)/sessions, len(known), again, junk, repeats)
	if total == 0 || float64(len(known))/sessions > 1.5 {
		t.Errorf("%d candidates of %d sessions", len(known), sessions)
	}
	if 100*junk >= 5*len(known) || repeats > 0 {
		t.Errorf("%d junk and %d repeats of %d", junk, repeats, len(known))
	}
	for _, name := range []string{"go test ./...", "make lint", "cd web && npm run build"} {
		n := 0
		for _, c := range known {
			if strings.HasSuffix(c.Text, ": "+name) {
				n = max(n, seen[c.Key])
			}
		}
		if n < 2 {
			t.Errorf("%s recurs in the script, and was recognised in %d sessions", name, n)
		}
	}
}

// A candidate is never recalled; once approved it is, with the tier that its
// evidence earns.
func TestCandidateIsNotRecalled(t *testing.T) {
	ctx := context.Background()
	s, err := bolt.Open(ctx, t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	id := ""
	for _, c := range newScript().run("go test ./store", 0, "ok  \tpay/store\t0.2s").patterns() {
		got, err := s.WriteClaim(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.Text, "Test passes") {
			id = got
		}
	}
	ask := func() []ken.Claim {
		got, err := s.Query(ctx, ken.Query{Question: "which test passes in store?"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ask(); len(got) != 0 {
		t.Errorf("recalled before anybody approved it: %q", got[0].Text)
	}
	err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusObserved, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", someDay, "approved")}})
	if err != nil {
		t.Fatal(err)
	}
	got := ask()
	if len(got) != 1 || got[0].ID != id {
		t.Fatalf("%d claims after approval", len(got))
	}
	if tier := got[0].Support(nil).Tier; tier != ken.Inferred {
		t.Errorf("a test result and an exit code of one run make it %s", tier)
	}
}
