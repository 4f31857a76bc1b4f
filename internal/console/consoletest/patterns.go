package consoletest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/pattern"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// patterns are the candidates that wait for a review, the first one seen most often; two
// were decided about before.
func (f *furnisher) patterns() []step {
	list := []struct {
		source pattern.Source
		name   string
	}{
		{pattern.Command, "go test ./..."}, {pattern.Command, "make lint"}, {pattern.Test, "TestBackoff"}, {pattern.File, "retry/backoff.go"},
		{pattern.Command, "docker compose up -d postgres"}, {pattern.Failure, "go test ./bank/..."}, {pattern.File, "ledger/post.go"},
		{pattern.Command, "psql -f schema.sql"}, {pattern.Test, "TestPostTwice"}, {pattern.Command, "go run ./cmd/paymentsd"},
		{pattern.Failure, "curl -f https://bank.example/health"}, {pattern.Command, "git push --dry-run"},
		{pattern.Command, "gofmt -l ."}, {pattern.Command, "rm -rf node_modules"},
	}
	const candidates = 12
	var steps []step
	for i, p := range list {
		ago := 26*day - time.Duration(i)*time.Hour
		name := fmt.Sprint("pattern ", i+1)
		steps = append(steps, f.change(ago, name, func(ctx context.Context, s store.Engine) error {
			id, err := s.WriteClaim(ctx, f.candidate(p.source, p.name))
			if err != nil {
				return err
			}
			f.project.Claims[name] = id
			if i < candidates {
				f.project.Patterns = append(f.project.Patterns, id)
			}
			return nil
		}))
		for k := range max(0, 2*(candidates-i-1)) {
			steps = append(steps, f.change(ago-time.Duration(k+1)*day/2, name+" again", func(ctx context.Context, s store.Engine) error {
				return s.Reinforce(ctx, f.project.Claims[name], []ken.Evidence{seen(k + 1)}, ken.Actor{Type: "system", ID: "harvest"})
			}))
		}
	}
	return append(steps, f.move(12*day, "pattern 13", ken.StatusObserved, "approved", ana), f.move(12*day-time.Minute, "pattern 14", ken.StatusDisputed, "rejected", ana))
}

// candidate is a pattern's claim as harvests write it.
func (f *furnisher) candidate(source pattern.Source, name string) ken.Claim {
	body := pattern.Body{Source: source, Count: 1}
	text := map[pattern.Source]string{pattern.Command: "Shell command succeeds: ", pattern.Test: "Test passes: ", pattern.File: "File is modified repeatedly in sessions: ",
		pattern.Failure: "Shell command fails repeatedly: "}[source] + name
	switch source {
	case pattern.Test:
		body.Test = name
	case pattern.File:
		body.File = name
	case pattern.Failure:
		code := 1
		body.Command, body.ExitCode, body.LastError = name, &code, "exit status 1"
	default:
		body.Command = name
	}
	b, _ := json.Marshal(body) // strings and numbers always can be
	at := f.clock.Now()
	return ken.Claim{ID: f.ids.named(at, text), Key: pattern.Key(source, name, session.Info{About: session.About{Project: "payments"}}), Kind: ken.KindPattern, Text: text,
		Body: b, Evidence: []ken.Evidence{seen(0)}, Status: ken.StatusHypothesis, Confidence: .6, Importance: .4, Domain: string(source), Entities: []string{name},
		Project: "payments", Session: "s-onboarding", Actor: ken.Actor{Type: "system", ID: "harvest"}, Source: "s-onboarding", SourceType: "harvest", CreatedAt: at}
}

// seen is the evidence of the nth time.
func seen(n int) ken.Evidence {
	e := ken.FromToolResult(fmt.Sprintf("call_%d", n), "run_command")
	e.SessionID, e.Trust = fmt.Sprintf("s-work-%d", n), ken.TrustAgent
	return e
}

// orderPatterns puts the candidates into the order of a review: harvests have seen some of
// them again.
func (f *furnisher) orderPatterns(ctx context.Context) error {
	return f.store(ctx, "", func(s store.Engine) error {
		seen := map[string]int{}
		for _, id := range f.project.Patterns {
			c, err := s.Get(ctx, id)
			if err != nil {
				return err
			}
			seen[id] = c.Reinforcements
		}
		slices.SortStableFunc(f.project.Patterns, func(a, b string) int { return cmp.Compare(seen[b], seen[a]) })
		return nil
	})
}
