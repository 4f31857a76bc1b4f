package consoletest

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/harvest/pattern"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

var (
	ana   = ken.Actor{Type: "user", ID: "ana"}
	tidy  = ken.Actor{Type: "system", ID: "lifecycle"}
	build = ken.Actor{Type: "agent", ID: builder}
)

// changes returns the later changes of claims, and the items for an operator.
func (f *furnisher) changes() []step {
	steps := []step{
		f.supersede(80*day-time.Hour, retryFive, retryFour, "the outage of 12 March"),
		f.supersede(60*day-time.Hour, retryFour, retryThree, "ADR-0005"),
		f.supersede(16*day-time.Hour, timeoutSure, timeoutMaybe, "newer"),
		f.move(39*day, verified, ken.StatusVerified, "two checks agree", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-39*day), "went through the entries by hand")),
		f.move(37*day, disputed, ken.StatusVerified, "measured for a week", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-37*day), "watched the dashboard")),
		f.move(6*day, disputed, ken.StatusDisputed, "it took eleven seconds on Monday", build, ken.FromToolResult("call_curl_2", "time_total 11.2")),
		{30*day - time.Hour, "contradict", f.contradict},
		f.move(11*day, demoted, ken.StatusHypothesis, ken.ReasonLapsed, tidy),
		{58 * day, "edit " + staleFile, func(context.Context) error { return f.edit(staleFile, "10 * time.Second", "12 * time.Second") }},
		{5*day + time.Hour, "refuse a write", f.refuse},
		f.mark(2*day, attention.ForgetRequested, forgettable, "Ana asked me to forget her extension."),
		f.mark(2*day-time.Hour, attention.DisputeRequested, hotDeploys, "Tom deployed at four today and nobody minded."),
	}
	for i, name := range []string{verified, "finding"} {
		steps = append(steps, f.change(time.Duration(9-i)*day-2*time.Hour, "reinforce "+name, func(ctx context.Context, s store.Engine) error {
			id, err := f.claim(name)
			if err != nil {
				return err
			}
			return s.Reinforce(ctx, id, []ken.Evidence{ken.FromMessage("s-incident", "m7", "seen again")}, build)
		}))
	}
	return steps
}

func (f *furnisher) supersede(ago time.Duration, old, by, reason string) step {
	return f.change(ago, "supersede "+old, func(ctx context.Context, s store.Engine) error {
		was, err := f.claim(old)
		now, err2 := f.claim(by)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		return s.SupersedeFor(ctx, was, now, reason, ana)
	})
}

func (f *furnisher) move(ago time.Duration, name string, to ken.Status, reason string, actor ken.Actor, evidence ...ken.Evidence) step {
	return f.change(ago, string(to)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		return s.Transition(ctx, ken.Transition{ID: id, To: to, Reason: reason, Actor: actor, Evidence: evidence})
	})
}

// contradict makes two claims contradict each other, as a harvest does that can't decide
// between them.
func (f *furnisher) contradict(ctx context.Context) error {
	return f.store(ctx, "", func(s store.Engine) error {
		for _, pair := range [][2]string{{mailInline, mailQueued}, {mailQueued, mailInline}} {
			id, err := f.claim(pair[0])
			other, err2 := f.claim(pair[1])
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: attention.ContradictionReason(other, "queued, or not?"),
				Actor: ken.Actor{Type: "system", ID: "harvest"}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// refuse is an agent's attempt to write a claim without evidence.
func (f *furnisher) refuse(ctx context.Context) error {
	h := f.layer.Operator().Handle(ken.Turn{Session: "s-incident", Project: "payments", Agent: builder})
	if _, err := h.Learn(ctx, "The bank is always right.", nil); !errors.Is(err, ken.ErrInvalid) {
		return errors.Join(errors.New("a claim without evidence was written"), err)
	}
	return nil
}

func (f *furnisher) mark(ago time.Duration, e attention.Event, name, reason string) step {
	return f.change(ago, string(e)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		_, err = attention.PutMark(ctx, s.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: "s-incident", Actor: build, At: f.clock.Now()})
		return err
	})
}

// patterns returns the candidates that wait for review, ordered by how often they were
// seen; two earlier ones were decided.
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

// candidate returns a pattern's claim as a harvest writes it.
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
	b, _ := json.Marshal(body) // can't fail for strings and numbers
	at := f.clock.Now()
	return ken.Claim{ID: f.ids.named(at, text), Key: pattern.Key(source, name, session.Info{About: session.About{Project: "payments"}}), Kind: ken.KindPattern, Text: text,
		Body: b, Evidence: []ken.Evidence{seen(0)}, Status: ken.StatusHypothesis, Confidence: .6, Importance: .4, Domain: string(source), Entities: []string{name},
		Project: "payments", Session: "s-onboarding", Actor: ken.Actor{Type: "system", ID: "harvest"}, Source: "s-onboarding", SourceType: "harvest", CreatedAt: at}
}

// seen returns the evidence of the nth observation.
func seen(n int) ken.Evidence {
	e := ken.FromToolResult(fmt.Sprintf("call_%d", n), "run_command")
	e.SessionID, e.Trust = fmt.Sprintf("s-work-%d", n), ken.TrustAgent
	return e
}

// orderPatterns makes harvests observe some candidates again, to give them the order of a
// review.
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

// work returns a dead job, and one that is due a month after Options.Now, so that a server
// that is started on the project does not run it.
func (f *furnisher) work() []step {
	return []step{f.change(time.Hour, "jobs", func(ctx context.Context, s store.Engine) error {
		q := jobs.NewQueue(s.Shelf(), jobs.Options{Worker: "furnish", Now: f.clock.Now})
		payload := func(session string) []byte { return fmt.Appendf(nil, `{"session":%q,"part":1,"upto":12}`, session) }
		if _, _, err := q.Add(ctx, jobs.New{Kind: session.JobHarvest, Key: "s-lost/1/12", Payload: payload("s-lost")}); err != nil {
			return err
		}
		report, err := q.Drain(ctx, map[string]jobs.Handler{session.JobHarvest: func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
			return "", jobs.Permanent(&ken.Error{Code: ken.CodeNotFound, Msg: "the messages of session s-lost are gone " + script, Try: "Remove the job."})
		}})
		if err != nil {
			return err
		}
		if report.Dead != 1 {
			return errors.New("the job is not dead")
		}
		_, _, err = q.Add(ctx, jobs.New{Kind: session.JobHarvest, Key: "s-later/1/3", Payload: payload("s-later"), After: f.o.Now.Add(30 * day)})
		return err
	})}
}

//go:embed testdata/sweep
var sweepData embed.FS

// Sweeps is the folder of the reports of recall sweeps, relative to the project's root:
// NAME.json.
const Sweeps = ".ken/state/sweeps"

// sweeps runs a small data set with keyword search and with hybrid search, and stores both
// reports.
func (f *furnisher) sweeps(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "furnish-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data, err := fs.Sub(sweepData, "testdata")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, data); err != nil {
		return err
	}
	for _, mode := range []sweep.Mode{sweep.ModeKeyword, sweep.ModeHybrid} {
		set, err := dataset.Open(ctx, path.Join(dir, "sweep"), dataset.Options{})
		if err != nil {
			return err
		}
		report, err := sweep.Run(ctx, sweep.Options{Data: set, Modes: []sweep.Mode{mode}, Seed: 1, Workers: 1, Set: []sweep.Setting{{Key: "retrieval.deadline", Value: "30s"}}})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := report.Write(&b); err != nil {
			return err
		}
		if err := f.write(path.Join(Sweeps, string(mode)+".json"), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// things returns the entities with their dependencies, aliases, rules and tasks.
func (f *furnisher) things() []step {
	steps := []step{f.edits(70*day, "describe entities", describe), f.edits(69*day, "depend", depend), f.edits(68*day, "rules", rules), f.edits(5*day, "tasks", f.tasks)}
	return steps
}

// edits returns a step that a person takes with the editor of the structure.
func (f *furnisher) edits(ago time.Duration, name string, do func(context.Context, *edit.Editor) error) step {
	return f.change(ago, name, func(ctx context.Context, s store.Engine) error {
		return do(ctx, edit.New(s, edit.Options{Now: f.clock.Now, NewID: func() string { return f.ids.next(f.clock.Now()) }, Actor: ana, Project: "payments",
			Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", f.clock.Now(), "drew it on the board")}, Source: "ana", SourceType: "edit"}))
	})
}

func describe(ctx context.Context, e *edit.Editor) error {
	for _, d := range [][3]string{
		{"payments", "project", "Payments: moves money between accounts"}, {"ledger", "system", "Ledger: the books, in double entry"},
		{"bank", "system", "Bank: the partner's API"}, {"retry", "system", "Retry: repeats calls to the bank"}, {"handler", "system", "Handler: the HTTP API"},
		{"postgres", "tool", "PostgreSQL: where the ledger lies"}, {"notify", "system", "Notify: letters to people"}, {"settlement", "concept", "Settlement: what goes to the bank, once a night"},
		{"exporter", "system", "Exporter: writes the settlement's file"}, {"ana", "person", "Ana: owns payments"}, {"tom", "person", "Tom: owns the letters"},
		{"auditors", "person", "Auditors: look at the books once a year"}, {"refunds", "concept", "Refunds: transfers that go back"}, {"on call", "concept", "On call: who answers at night"},
		{"vault", "tool", "Vault: where keys lie"},
	} {
		if _, err := e.Describe(ctx, d[0], d[1], d[2]); err != nil {
			return fmt.Errorf("%s: %w", d[0], err)
		}
	}
	_, err := e.Alias(ctx, "payments", "paymentsd", "that is what the binary is called")
	return err
}

func depend(ctx context.Context, e *edit.Editor) error {
	for _, d := range []struct {
		from, how, to string
		strength      float64
	}{
		{"payments", "uses", "ledger", .9}, {"payments", "uses", "bank", .9}, {"payments", "uses", "retry", .7}, {"payments", "uses", "handler", .8}, {"payments", "owned_by", "ana", .9},
		{"handler", "requires", "ledger", .8}, {"handler", "uses", "retry", .6}, {"retry", "uses", "bank", .8}, {"ledger", "requires", "postgres", 1}, {"ledger", "uses", "notify", .3},
		{"notify", "owned_by", "tom", .8}, {"settlement", "uses", "exporter", .7}, {"settlement", "requires", "bank", .9}, {"exporter", "requires", "ledger", .9},
		{"auditors", "blocks", "settlement", .5}, {"refunds", "requires", "ledger", .8}, {"refunds", "informs", "auditors", .2}, {"bank", "requires", "vault", .4}, {"on call", "owned_by", "ana", .5},
	} {
		if _, err := e.AddDependency(ctx, d.from, d.how, d.to, d.strength); err != nil {
			return fmt.Errorf("%s %s %s: %w", d.from, d.how, d.to, err)
		}
	}
	return nil
}

func rules(ctx context.Context, e *edit.Editor) error {
	for _, r := range []edit.NewConstraint{
		{Text: "Never write to the ledger but through ledger.Post.", Entities: []string{"ledger"}, Aspect: "design"},
		{Text: "Never call the bank without a reference.", Entities: []string{"bank"}, Aspect: "api"},
		{Text: "Refunds of more than 1,000 euros must be approved by Ana.", Entities: []string{"refunds", "ana"}, Aspect: "policy"},
	} {
		if _, err := e.AddConstraint(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Text, err)
		}
	}
	return nil
}

func (f *furnisher) tasks(ctx context.Context, e *edit.Editor) error {
	for i, t := range []struct {
		title string
		about []string
		to    []task.Status
	}{
		{"Reconcile a week of hourly settlement", []string{"settlement", "bank"}, nil},
		{"Enlarge the pool of connections before month's end", []string{"postgres"}, []task.Status{task.InProgress}},
		{"Ask the bank about Sundays", []string{"bank"}, []task.Status{task.InProgress, task.Blocked}},
		{"Queue letters in the transaction", []string{"notify"}, []task.Status{task.InProgress, task.Done}},
		{"Pay out in Swiss francs", []string{"payments"}, []task.Status{task.Cancelled}},
	} {
		made, err := e.CreateTask(ctx, edit.NewTask{Title: t.title, About: t.about})
		if err != nil {
			return fmt.Errorf("task %d: %w", i+1, err)
		}
		for _, to := range t.to {
			if _, err := e.UpdateTask(ctx, made.ID, edit.TaskChange{Status: &to}); err != nil {
				return fmt.Errorf("task %d: %w", i+1, err)
			}
		}
	}
	return nil
}
