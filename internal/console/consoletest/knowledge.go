package consoletest

import (
	"context"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/store"
)

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
