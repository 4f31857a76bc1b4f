package middleware_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// A user's statement in a session is a rule only if the store belongs to one person, the
// statement is explicitly a rule, and it names its entity. What the harvest writes is in the
// audit trail, with its actor.
func TestARuleThatAUserSaysInASession(t *testing.T) {
	yes, no := true, false
	for _, k := range []struct {
		set               *bool // in the configuration; nil is the default of a program with one user
		distrust, trusted bool
	}{{&no, false, false}, {&yes, false, true}, {nil, false, true}, {nil, true, false}, {&yes, true, true}} {
		trusted, root := k.trusted, t.TempDir()
		l := open(t, settings(func(c *config.Config) {
			c.Knowledge.TrustUser, c.Middleware.Events = k.set, true
			c.Knowledge.TrustUserUnlessSet()
		}), func(o *middleware.Options) { o.Root = root })
		c := converse(t, l, serve(t, "Noted.", "Noted."), ken.Turn{Session: "s", DistrustUser: k.distrust})
		c.ask("Never deploy the payments service on Fridays. Never use emojis. We keep amounts of the ledger in cents.", false)
		c.answered("Noted.")
		c.ask("Good. Thanks for the help with it.", false)
		if err := l.Operator().End(t.Context(), "", "s", session.Idle); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Harvest(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		s, release, err := l.Store(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		friday := 0
		for k, err := range s.Scan(t.Context(), &ken.Filter{Kinds: []ken.Kind{ken.KindFact}}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(k.Text, "Fridays") {
				friday++
				if k.Constraint != trusted || k.RuleCandidate == trusted {
					t.Errorf("trusted %v: %q is a rule %v, a candidate %v", trusted, k.Text, k.Constraint, k.RuleCandidate)
				}
			} else if k.Constraint {
				t.Errorf("trusted %v: %q is a rule", trusted, k.Text)
			}
		}
		release()
		if friday == 0 {
			t.Errorf("trusted %v: nothing was learned", trusted)
		}
		learned := 0
		files, _ := filepath.Glob(filepath.Join(root, l.Config().Telemetry.Events, "*"))
		for _, name := range files {
			f, err := os.Open(name)
			if err != nil {
				continue
			}
			for lines := bufio.NewScanner(f); lines.Scan(); {
				if strings.Contains(lines.Text(), `"event":"knowledge.learn"`) && strings.Contains(lines.Text(), `"actor_type":"`) {
					learned++
				}
			}
			_ = f.Close()
		}
		if learned == 0 {
			t.Errorf("the audit trail has nothing of the harvest: %v", files)
		}
	}
}

// What a process that serves one person received becomes the same rules in whichever process harvests it,
// unless another process that serves nobody in particular took part.
func TestRulesOfASessionThatAnotherProcessHarvests(t *testing.T) {
	for name, second := range map[string]bool{"one process": false, "a second one": true} {
		root := t.TempDir()
		at := func(o *middleware.Options) { o.Root, o.Brief = root, true }
		trusting := open(t, settings(func(c *config.Config) {
			c.Harvest.AtOnce = false // as after a crash
			c.Knowledge.TrustUserUnlessSet()
		}), at)
		c := converse(t, trusting, serve(t, "Noted."), ken.Turn{Session: "s"})
		c.ask("Never deploy the payments service on Fridays.", false)
		c.answered("Noted.")
		if err := trusting.Close(); err != nil {
			t.Fatal(err)
		}
		other := open(t, settings(), func(o *middleware.Options) { o.Root = root })
		if second {
			if _, err := other.Session(ken.Turn{Session: "s"}).Add(t.Context(), ken.Message{Role: "user", Text: "Thanks for the help."}); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.End(t.Context(), "", "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Harvest(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		found, err := other.Recall(t.Context(), "May I deploy the payments service on Fridays?")
		if err != nil || len(found.Claims) == 0 || found.Claims[0].Constraint == second || found.Claims[0].RuleCandidate != second {
			t.Errorf("%s: %+v, %v", name, found.Claims, err)
		}
	}
}
