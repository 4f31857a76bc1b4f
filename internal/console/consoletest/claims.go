package consoletest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/pattern"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// told is a claim of the story.
type told struct {
	name string
	ago  time.Duration
	text string
	set  func(f *furnisher, c *ken.Claim) error // what is not as for most; may be nil
}

// learn returns the step that writes a claim to the default owner's store.
func (f *furnisher) learn(t told) step { return f.learnFor("", t) }

func (f *furnisher) learnFor(owner string, t told) step {
	return step{t.ago, "learn " + t.name, func(ctx context.Context) error {
		at := f.clock.Now()
		c := ken.Claim{ID: f.ids.named(at, owner+"/"+t.name), Kind: ken.KindFact, Text: t.text, Status: ken.StatusObserved, Confidence: .9, Importance: .5,
			Project: "payments", Actor: ken.Actor{Type: "user", ID: "ana"}, Source: "ana", SourceType: "learn", CreatedAt: at,
			Evidence: []ken.Evidence{ken.FromUserStatement("s-incident", "m1")}}
		if t.set != nil {
			if err := t.set(f, &c); err != nil {
				return err
			}
		}
		return f.store(ctx, owner, func(s store.Engine) error {
			id, err := s.WriteClaim(ctx, c)
			if err != nil {
				return err
			}
			if owner == Bob {
				f.project.Others = append(f.project.Others, id)
			} else {
				f.project.Claims[t.name] = id
			}
			return nil
		})
	}}
}

// store calls fn with an owner's store.
func (f *furnisher) store(ctx context.Context, owner string, fn func(store.Engine) error) (err error) {
	s, release, err := f.layer.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// by is evidence in place of a person's word.
func by(pieces ...ken.Evidence) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error { c.Evidence = pieces; return nil }
}

// files has a claim rest on files as they were when it was written.
func files(paths ...string) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		c.Evidence = nil
		for i, p := range paths {
			e, err := f.fileEvidence(p, 7+i)
			if err != nil {
				return err
			}
			c.Evidence = append(c.Evidence, e)
		}
		return nil
	}
}

// about files a claim under things, aspect and tags.
func about(aspect string, entities []string, tags ...string) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error {
		c.Aspect, c.Entities, c.Tags = aspect, entities, tags
		return nil
	}
}

// like sets a claim's fields.
func like(set func(c *ken.Claim)) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error { set(c); return nil }
}

// all does one after the other.
func all(sets ...func(*furnisher, *ken.Claim) error) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		for _, set := range sets {
			if err := set(f, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// change is a step that does something about claims that are there.
func (f *furnisher) change(ago time.Duration, name string, do func(ctx context.Context, s store.Engine) error) step {
	return step{ago, name, func(ctx context.Context) error {
		return f.store(ctx, "", func(s store.Engine) error { return do(ctx, s) })
	}}
}

// claim is the id of a claim of the story.
func (f *furnisher) claim(name string) (string, error) {
	id, ok := f.project.Claims[name]
	if !ok {
		return "", errors.New("the story has no claim " + name + " yet")
	}
	return id, nil
}

// commit is the one that evidence names. There is no repository of git behind it.
const commit = "4be1c0ffee5ad0c1a7f3b9d2e8f60718293a4b5c"

// Who works on the project.
const (
	builder  = "agent-build"
	reviewer = "agent-review"
)

// Claims of which the steps after them know the names.
const (
	wrong        = "wrong fact"
	retryFive    = "retry five"
	retryFour    = "retry four"
	retryThree   = "retry three"
	disputed     = "disputed"
	mailQueued   = "mail queued"
	mailInline   = "mail inline"
	unsure       = "unsure"
	hotDeploys   = "hot deploys"
	hotReference = "hot reference"
	forgettable  = "forgettable"
	derived      = "derived"
	verified     = "verified"
	demoted      = "demoted"
	timeoutSure  = "timeout sure"
	timeoutMaybe = "timeout maybe"
)

// knowledge is what people and agents have written down, of every kind, with evidence of
// every kind.
func (f *furnisher) knowledge() []step {
	at := f.o.Now
	agent := like(func(c *ken.Claim) { c.Actor, c.Source = ken.Actor{Type: "agent", ID: builder}, builder })
	inRepo := like(func(c *ken.Claim) { c.Scope = repo })
	kind := func(k ken.Kind) func(*furnisher, *ken.Claim) error { return like(func(c *ken.Claim) { c.Kind = k }) }
	list := []told{
		{retryFive, 110 * day, "Calls to the bank are made five times, one second apart.",
			all(files("retry/retry.go"), about("behaviour", []string{"retry", "bank"}, "retry"), inRepo)},
		{retryFour, 80 * day, "Calls to the bank are made four times, two seconds apart.", all(about("behaviour", []string{"retry", "bank"}, "retry"), inRepo)},
		{retryThree, 60 * day, "Calls to the bank are made three times, ten seconds apart at first; the pause doubles and stops at a minute. " + OwnWord + ".",
			all(files("retry/retry.go", staleFile), about("behaviour", []string{"retry", "bank"}, "retry", "incident"), inRepo)},
		{"backoff base", 59 * day, "The first pause between two calls to the bank is ten seconds.", all(files(staleFile), about("behaviour", []string{"retry"}, "retry"), inRepo)},
		{wrong, 20 * day, "Refunds are possible for 90 days after the transfer.",
			all(by(ken.FromMessage("s-onboarding", "m4", "refunds, ninety days I think")), about("policy", []string{"refunds", "payments"}, "refunds"), agent, inRepo)},
		{"refund days", 44 * day, "Only transfers that were booked can be refunded, and only in full.",
			all(files("handler/refund.go"), about("policy", []string{"refunds"}, "refunds"), inRepo)},
		{verified, 40 * day, "The ledger keeps two entries for each transfer and never changes one.",
			all(by(ken.FromTestResult("TestDoubleEntry", "ok, 0.02s"), ken.FromValidator("ledger-audit", "12,804 entries balance"), ken.FromGitHistory(Repo, commit, "ledger: double entry")),
				about("design", []string{"ledger", "payments"}, "ledger"), inRepo)},
		{timeoutSure, 27 * day, "One call to the bank may take five seconds.", all(files("bank/client.go"), about("behaviour", []string{"bank"}, "latency"), inRepo)},
		{timeoutMaybe, 16 * day, "One call to the bank may take eight seconds or so.", all(about("behaviour", []string{"bank"}, "latency"), inRepo, agent, like(func(c *ken.Claim) { c.Confidence = .4 }))},
		{disputed, 38 * day, "The bank answers within two seconds, always.", all(about("performance", []string{"bank"}, "latency"), inRepo)},
		{mailInline, 36 * day, "Letters are sent within the request.", all(files("notify/mail.go"), about("behaviour", []string{"notify", "payments"}, "mail"), inRepo)},
		{mailQueued, 30 * day, "Letters are queued and sent by a worker, never within the request.", all(files("notify/mail.go"), about("behaviour", []string{"notify", "payments"}, "mail"), inRepo, agent)},
		{unsure, 29 * day, "The partner bank may close its sandbox on Sundays.",
			all(by(ken.FromModelInference("s-onboarding", "m9", "two failures on Sundays")), about("availability", []string{"bank"}, "sandbox"),
				like(func(c *ken.Claim) { c.Status, c.Confidence = ken.StatusInferred, .2 }), agent)},
		{hotDeploys, 50 * day, "Deploys of payments go out on weekdays before three in the afternoon. " + OwnWord + ".", all(kind(ken.KindHot), about("procedure", []string{"payments"}, "deploy"))},
		{hotReference, 49 * day, "Every transfer carries a reference from the client; the same one twice is one transfer.", all(kind(ken.KindHot), about("design", []string{"payments"}, "api"))},
		{forgettable, 15 * day, "Ana's direct line is extension 4711.", all(about("contact", []string{"ana"}, "people"), agent)},
		{derived, 14 * day, "Whoever is on call reaches Ana at extension 4711 after six.",
			all(derivedFrom(forgettable), about("contact", []string{"ana", "on call"}, "people"), agent)},
		{demoted, 12 * day, "The image of payments is built from scratch in four minutes.",
			all(by(ken.FromToolResult("call_build_7", "docker build: 241 s")), about("performance", []string{"payments"}, "build"), agent)},
		{"episode", 10 * day, "Ana and " + builder + " looked into transfers that were refunded twice, found that the reference was made anew on retry, and fixed the client. " + OwnWord + ".",
			all(kind(ken.KindEpisode), like(func(c *ken.Claim) { c.Session, c.Heading = "s-incident", "Transfers refunded twice" }), agent)},
		{"finding", 9 * day, "go test ./retry/... passes in 0.4 s.",
			all(kind(ken.KindFinding), by(ken.FromExitCode("go test ./retry/...", 0), ken.FromTestResult("TestBackoff", "ok")), about("quality", []string{"retry"}, "test"), agent,
				like(func(c *ken.Claim) { c.SourceType, c.Session = "tool:run_command", "s-incident" }))},
		{"bank docs", 8 * day, "The bank's API answers 409 for a reference that it has seen with another amount.",
			all(by(ken.FromURL("https://bank.example/docs/transfers", at.Add(-8*day), "sha256:5f1de0"), ken.FromArtifact("openapi", "docs/api.md")), about("api", []string{"bank"}, "api"), inRepo)},
		{"bank blog", 8*day - time.Hour, "The bank plans to drop TLS 1.2 next spring.",
			all(by(ken.FromURL("https://bank.example/blog/tls", at.Add(-8*day), "")), about("roadmap", []string{"bank"}, "tls"), agent)},
		{"human", 7 * day, "The auditors want settlement with the bank every hour.",
			all(by(ken.FromHumanAssertion("ana", at.Add(-7*day), "said in the meeting with the auditors")), about("goal", []string{"payments", "bank", "auditors"}, "audit"))},
		{"agent word", 6 * day, "The nightly settlement takes about forty minutes.",
			all(by(ken.FromAgentAssertion(reviewer, "saw it in a log")), about("performance", []string{"settlement"}, "audit"), like(func(c *ken.Claim) { c.Actor = ken.Actor{Type: "agent", ID: reviewer} }))},
		{"decided", 6*day - time.Hour, "Settlement stays nightly until a week was reconciled in parallel.",
			all(kind(ken.KindDecision), by(ken.FromDecision("0198a000-0000-7000-8000-000000000001"), ken.FromRepositoryMemory("0198a000-0000-7000-8000-000000000002")), about("policy", []string{"settlement", "bank"}, "audit"))},
		{"goal", 6*day - 2*time.Hour, "Reconcile a week of hourly settlement in parallel.", all(kind(ken.KindObjective), about("goal", []string{"settlement"}, "audit"))},
		{"hypothesis", 5 * day, "The pool of connections to PostgreSQL is too small for month's end.",
			all(by(ken.FromModelInference("s-latency", "m2", "waits grow on the 30th")), about("performance", []string{"postgres", "payments"}, "latency"), agent, like(func(c *ken.Claim) { c.Status, c.Confidence = ken.StatusHypothesis, .5 }))},
		{"run", 4 * day, "In this run the sandbox of the bank is slow.", all(about("availability", []string{"bank"}), agent, like(func(c *ken.Claim) { c.Scope = ken.Scope{Type: ken.ScopeRun, ID: "ci-1204"} }))},
		{"for one agent", 4*day - time.Hour, "Answer Ana in short sentences.", all(about("preference", []string{"ana"}), like(func(c *ken.Claim) { c.Scope = ken.Scope{Type: ken.ScopeAgent, ID: reviewer} }))},
		{"for the project", 4*day - 2*time.Hour, "Amounts are whole cents in an int64, never floats.",
			all(about("convention", []string{"payments", "ledger"}, "style"), like(func(c *ken.Claim) {
				c.Scope, c.Constraint, c.AssignedBy = ken.Scope{Type: ken.ScopeProject, ID: "payments"}, true, ken.AssignedByOperator
			}))},
		{"expired", 3*day - time.Hour, "The freeze for the audit holds until Friday.", all(about("policy", []string{"payments"}, "deploy"), like(func(c *ken.Claim) { c.ExpiresAt = at.Add(-day) }))},
		{"expires soon", 2 * day, "The bank's key for the sandbox is valid for another week.", all(about("policy", []string{"bank"}, "keys"), like(func(c *ken.Claim) { c.ExpiresAt = at.Add(7 * day) }))},
		{"today", 2 * time.Hour, "The exporter writes one line for each settled transfer, sorted by reference. " + OwnWord + ".",
			all(by(ken.FromUserStatement("s-settlement", "m3")), about("format", []string{"settlement", "exporter"}, "audit"), agent, inRepo)},
	}
	steps := []step{f.playbook("deploy", 55*day, "skills/deploy-payments"), f.playbook("rotate", 54*day, "skills/rotate-bank-keys.md")}
	for _, t := range list {
		steps = append(steps, f.learn(t))
	}
	return steps
}

// derivedFrom has a claim rest on another one of the story.
func derivedFrom(name string) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		id, err := f.claim(name)
		c.Evidence = []ken.Evidence{ken.FromRepositoryMemory(id)}
		return err
	}
}

// playbook adds a skill of the project's files, as a person does.
func (f *furnisher) playbook(name string, ago time.Duration, path string) step {
	return f.change(ago, "playbook "+name, func(ctx context.Context, s store.Engine) error {
		sk, err := skill.Read(filepath.Join(f.project.Dir, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		sk.Path = path
		c, err := sk.Claim("ana", f.clock.Now())
		if err != nil {
			return err
		}
		c.ID = f.ids.named(f.clock.Now(), "playbook/"+name)
		f.project.Claims["playbook "+name], err = s.WriteClaim(ctx, c)
		return err
	})
}

// things are the entities that claims are about, what they depend on, their other names,
// rules about them, and tasks.
func (f *furnisher) things() []step {
	steps := []step{f.edits(70*day, "describe entities", describe), f.edits(69*day, "depend", depend), f.edits(68*day, "rules", rules), f.edits(5*day, "tasks", f.tasks)}
	return steps
}

// edits is a step that a person takes with the editor of the structure.
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

// tasks are one of each state.
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
