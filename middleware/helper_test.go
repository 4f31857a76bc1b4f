package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings is a configuration for tests: no repository, no events, and what
// change sets.
func settings(change ...func(*config.Config)) *config.Config {
	c := config.Default()
	c.Repository.Index = false
	c.Middleware.Events = false
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Knowledge.Nearest = 0                 // only relevant claims are in the block: see nearest_test.go
	for _, f := range change {
		f(&c)
	}
	return &c
}

// open opens a layer in an empty project.
func open(t testing.TB, c *config.Config, change ...func(*middleware.Options)) *middleware.Layer {
	t.Helper()
	o := middleware.Options{Root: t.TempDir(), Config: c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	l, err := middleware.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	return l
}

func openIn(t testing.TB, dir string) *middleware.Layer {
	t.Helper()
	cfg := config.Default()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: dir, Config: &cfg, Foreground: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// learn writes facts into the layer's store and returns their ids.
func learn(t testing.TB, l *middleware.Layer, claims ...ken.Claim) []string {
	t.Helper()
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	defer release()
	in := make([]store.Incoming, len(claims))
	for i, c := range claims {
		in[i].Claim = c
	}
	var ids []string
	for i, o := range s.Import(context.Background(), in) {
		if o.Err != nil {
			t.Fatalf("learn %d: %v", i, o.Err)
		}
		ids = append(ids, o.ID)
	}
	return ids
}

func fact(t testing.TB, format string, args ...any) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(fmt.Sprintf(format, args...), ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

// humanClaim returns a fact that a person stated.
func humanClaim(t testing.TB, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Evidence = []ken.Evidence{ken.FromHumanAssertion("ada", time.Time{}, "")}
	return c
}

// episode is the summary of a session.
func episode(t testing.TB, session, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Kind, c.Session = ken.KindEpisode, session
	return c
}

// playbook returns a playbook with a text that starts with its purpose.
func playbook(t testing.TB, name, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Kind, c.Key, c.Heading, c.Source = ken.KindPlaybook, "playbook:"+name, name, "skills/"+name+".md"
	return c
}

// asked is a turn of one user message.
func asked(question string) ken.Turn {
	return ken.Turn{Messages: []ken.Message{{Role: "user", Text: question}}}
}
