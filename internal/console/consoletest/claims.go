package consoletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/store"
)

// storyClaim is a claim of the story.
type storyClaim struct {
	name string
	ago  time.Duration
	text string
	set  func(f *furnisher, c *ken.Claim) error // sets fields that differ from most claims; may be nil
}

// learn returns the step that writes a claim to the default owner's store.
func (f *furnisher) learn(t storyClaim) step { return f.learnFor("", t) }

func (f *furnisher) learnFor(owner string, t storyClaim) step {
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

// by sets evidence to use instead of a person's statement.
func by(pieces ...ken.Evidence) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error { c.Evidence = pieces; return nil }
}

// files sets files as evidence, as they are when the claim is written.
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

// all combines several functions into one.
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

func (f *furnisher) change(ago time.Duration, name string, do func(ctx context.Context, s store.Engine) error) step {
	return step{ago, name, func(ctx context.Context) error {
		return f.store(ctx, "", func(s store.Engine) error { return do(ctx, s) })
	}}
}

func (f *furnisher) claim(name string) (string, error) {
	id, ok := f.project.Claims[name]
	if !ok {
		return "", errors.New("the story has no claim " + name + " yet")
	}
	return id, nil
}

// commit is a commit hash used as evidence. There is no git repository behind it.
const commit = "4be1c0ffee5ad0c1a7f3b9d2e8f60718293a4b5c"

// The people who work on the project.
const (
	builder  = "agent-build"
	reviewer = "agent-review"
)

// Names of claims to which later steps refer.
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

// knowledge returns the claims that people and agents have written: claims of every kind,
// with every kind of evidence.
func (f *furnisher) knowledge() []step {
	at := f.o.Now
	agent := like(func(c *ken.Claim) { c.Actor, c.Source = ken.Actor{Type: "agent", ID: builder}, builder })
	inRepo := like(func(c *ken.Claim) { c.Scope = repo })
	kind := func(k ken.Kind) func(*furnisher, *ken.Claim) error { return like(func(c *ken.Claim) { c.Kind = k }) }
	list := []storyClaim{
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

// derivedFrom sets another claim of the story as evidence.
func derivedFrom(name string) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		id, err := f.claim(name)
		c.Evidence = []ken.Evidence{ken.FromRepositoryMemory(id)}
		return err
	}
}

// playbook adds a skill from the project's files, as a person does.
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

// batch is how many claims are written in one transaction.
const batch = 2_000

// synthetic returns many plausible claims: sentences about services, people and rules, with
// realistic tags, scopes and evidence, from the year before the story.
func (f *furnisher) synthetic() []step {
	var steps []step
	rng := rand.New(rand.NewPCG(f.o.Seed, 1))
	for from := 0; from < f.o.Claims; from += batch {
		n := min(batch, f.o.Claims-from)
		ago := 120*day + time.Duration(f.o.Claims-from)*time.Minute
		steps = append(steps, f.change(ago, "synthetic claims", func(ctx context.Context, s store.Engine) error {
			in := make([]store.Incoming, n)
			for i := range in {
				in[i].Claim = f.sentence(rng, from+i)
			}
			for i, o := range s.Import(ctx, in) {
				if o.Err != nil {
					return fmt.Errorf("claim %d: %w", from+i, o.Err)
				}
			}
			return nil
		}))
	}
	return steps
}

var (
	services = strings.Fields("billing search catalog checkout inventory shipping identity pricing ledger reports mailer gateway scheduler archive importer exporter webhook fraud tax loyalty")
	parts    = strings.Fields("cache queue table index worker endpoint timeout schema migration token certificate replica bucket topic retry limit quota log alert dashboard")
	verbs    = strings.Fields("keeps drops retries validates stores renames deletes compresses encrypts batches logs rejects caches signs streams")
	objects  = strings.Fields("orders invoices sessions carts parcels users prices taxes refunds events rows messages files keys reports")
	whens    = []string{"after ten seconds", "every hour", "at midnight", "before the first request", "when the disk is full", "twice", "in order", "without a lock", "behind a flag", "since March", "only in Frankfurt", "for thirty days"}
	aspects  = strings.Fields("behaviour policy performance availability design api procedure quality")
	tags     = strings.Fields("incident onboarding migration security latency cost audit style deploy oncall")
)

// sentence returns one claim. Its text contains the number, so that no text occurs twice.
func (f *furnisher) sentence(rng *rand.Rand, n int) ken.Claim {
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	service, part := pick(services), pick(parts)
	at := f.clock.Now().Add(-time.Duration(rng.IntN(60*24*30)) * time.Minute)
	name := fmt.Sprint("synthetic ", n)
	c := ken.Claim{ID: f.ids.named(at, name), Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: .5 + rng.Float64()/2, Importance: rng.Float64(),
		Text:     fmt.Sprintf("The %s of %s %s %s %s %s; see ticket %d.", part, service, pick(verbs), pick(objects), pick(whens), pick(whens), n),
		Entities: []string{service, service + " " + part}, Aspect: pick(aspects), Tags: []string{pick(tags)}, AssignedBy: ken.AssignedByRules,
		Project: service, Session: fmt.Sprint("s-", n/40), Actor: ken.Actor{Type: "agent", ID: fmt.Sprint("agent-", n%7)}, Source: fmt.Sprint("agent-", n%7), SourceType: "harvest", CreatedAt: at}
	switch rng.IntN(6) {
	case 0:
		c.Evidence = []ken.Evidence{ken.FromFile(service+"/"+part+".go", Repo, commit)}
	case 1:
		c.Evidence = []ken.Evidence{ken.FromTestResult("Test"+part, "ok"), ken.FromExitCode("go test ./"+service, 0)}
	case 2:
		c.Evidence = []ken.Evidence{ken.FromURL("https://docs.example/"+service+"/"+part, at, "")}
	default:
		c.Evidence = []ken.Evidence{ken.FromMessage(c.Session, fmt.Sprint("m", n%40), "")}
	}
	switch rng.IntN(20) {
	case 0:
		c.Kind = ken.KindFinding
	case 1:
		c.Kind = ken.KindEpisode
	case 2:
		c.Status = ken.StatusInferred
	case 3:
		c.Status = ken.StatusHypothesis
	case 4, 5:
		c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "example.com/" + service}
	}
	return c
}

// Texts that are harmful if a page does not escape them. Each sets window.pwned, which a
// test checks. The store removes invisible characters from claims, such as control
// characters and direction marks; pages must handle the rest.
const (
	script = `<script>window.pwned=1</script>`
	image  = `<img src=x onerror=window.pwned=1>`
	vector = `"><svg onload=window.pwned=1>`
	link   = `javascript:window.pwned=1`
	cell   = `{{.}}{{printf "%s" .Keys}}${window.pwned=1}`
	bidi   = "pay \u202emoc.live\u2066 now\u2069\u202c"
	unseen = "zero\u200bwidth\u200d\u2060\ufeff soft\u00adhyphen"
	raw    = "nul\x00 bell\x07 escape\x1b[31m red\x1b[0m delete\x7f line\u2028end"
	fake   = `</textarea></title></style></script></template>` + script + `<!-- ]]> -->`

	hostileEntity  = `<img src=x onerror=window.pwned=1> service`
	hostileSession = `s-<script>window.pwned=1</script>`
	hostileAgent   = `agent"><svg onload=window.pwned=1>`
	hostileProject = `<img src=x onerror=window.pwned=1>`
)

// longWord has no place for a line break, and huge is as long as a claim may be.
const (
	longWord = 10_000
	huge     = ken.MaxTextBytes
)

// hostile returns claims that an attacker may write.
func (f *furnisher) hostile() []step {
	external := like(func(c *ken.Claim) {
		for i := range c.Evidence {
			c.Evidence[i].Trust = ken.TrustExternal
		}
	})
	at := f.o.Now
	list := []storyClaim{
		{"hostile script", 0, "Retries of the bank " + script + " are " + image + " unsafe " + vector, like(func(c *ken.Claim) {
			c.Heading, c.Tags, c.Entities, c.Aspect = image+" heading", []string{script, vector, "{{.}}"}, []string{hostileEntity, vector}, script
			c.Source, c.Session, c.Project, c.Domain = image, hostileSession, hostileProject, vector
			c.Branch, c.Actor = image, ken.Actor{Type: "agent", ID: hostileAgent}
			c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: script}
		})},
		{"hostile links", 0, "See [here](" + link + ") or <a href=\"" + link + "\">there</a> about the bank's " + link, all(by(
			ken.FromURL(link, at, "sha256:"+image), ken.FromURL("data:text/html,"+script, at, ""), ken.FromURL("https://bank.example/\" onmouseover=\"window.pwned=1", at, ""),
			ken.FromURL("//evil.example/"+image, at, ""), ken.FromFile("../../etc/passwd", "javascript:window.pwned=1", image), ken.FromFile(hostileFile, Repo, vector),
			ken.FromGitHistory(vector, link, script), ken.FromMessage(hostileSession, image, script), ken.FromToolResult(image, vector), ken.FromTestResult(script, image),
			ken.FromExitCode("echo "+image, 1), ken.FromAgentAssertion(vector, script), ken.FromArtifact(image, link), ken.FromValidator(script, vector),
			ken.FromHumanAssertion(image, at, fake)), external)},
		{"hostile template", 0, cell + " {{template \"x\"}} <%= 1 %> #{1} about the ledger", like(func(c *ken.Claim) { c.Heading, c.Tags = cell, []string{cell} })},
		{"hostile closing", 0, fake + " and the rest of what is known of the ledger", like(func(c *ken.Claim) { c.Heading = fake })},
		{"hostile unseen", 0, bidi + " " + unseen + " " + raw, like(func(c *ken.Claim) {
			c.Heading, c.Source, c.Tags, c.Entities, c.Session = bidi, unseen, []string{bidi, unseen}, []string{"bidi \u202ednik"}, "s-plain"
			c.Evidence = []ken.Evidence{ken.FromURL("https://bank.example/"+bidi+raw, at, ""), ken.FromMessage("s-\u202elive", bidi, raw)}
		})},
		{"hostile word", 0, strings.Repeat("w", longWord), like(func(c *ken.Claim) {
			c.Heading, c.Source, c.Tags, c.Entities = strings.Repeat("H", longWord), strings.Repeat("s", longWord), []string{strings.Repeat("t", longWord)}, []string{strings.Repeat("e", 119)}
		})},
		{"hostile huge", 0, hugeText(), nil},
		{"hostile right to left", 0, "التحويل إلى البنك يعاد ثلاث مرات — العربية ולחזור, then payments in English 👩‍👩‍👧‍👦 🇨🇭 Z͑ͫ̓ͪ̂ͫ̽a͎l̪̯g̝o", nil},
		{"hostile pattern", 0, "Shell command succeeds: echo " + image, like(func(c *ken.Claim) {
			c.Kind, c.Status, c.Body = ken.KindPattern, ken.StatusHypothesis, []byte(`{"source":"command","command":"echo <img src=x onerror=window.pwned=1>","count":1,"as_run":"<script>window.pwned=1</script>"}`)
		})},
		{"hostile hot", 0, "Payments " + image + " are " + script, like(func(c *ken.Claim) { c.Kind, c.Heading = ken.KindHot, vector })},
	}
	var steps []step
	for i, t := range list {
		t.ago = day - time.Duration(i)*time.Minute
		steps = append(steps, f.learn(t))
	}
	return append(steps,
		f.move(day/2, "hostile template", ken.StatusVerified, script, ken.Actor{Type: "user", ID: image}, ken.FromHumanAssertion(image, at, script)),
		f.move(day/2-time.Minute, "hostile template", ken.StatusDisputed, image+vector, ken.Actor{Type: "agent", ID: hostileAgent}),
		f.mark(day/2, "forget_requested", "hostile closing", script+image))
}

// hugeText returns words up to the largest size of a claim.
func hugeText() string {
	const line = "The ledger of payments has one more entry, and the bank has not heard of it " + image + ".\n"
	return strings.Repeat(line, huge/len(line))
}

// bobs returns another owner's claims about the same project, with a word that no page of
// the first owner may show.
func (f *furnisher) bobs() []step {
	var steps []step
	for i, text := range []string{
		"The payments of %s go through the bank at night.", "The ledger of %s is kept by Bob alone.", "Calls to the bank for %s are made seven times.",
		"Refunds of %s are never possible.", "Deploys of %s go out on Sundays.", "The auditors have never heard of %s.",
	} {
		t := storyClaim{fmt.Sprint("bob ", i+1), 20*day - time.Duration(i)*time.Hour, fmt.Sprintf(text, BobWord), like(func(c *ken.Claim) {
			c.Actor, c.Source, c.Tags, c.Entities, c.Aspect = ken.Actor{Type: "user", ID: "bob"}, BobWord, []string{BobWord}, []string{BobWord, "payments"}, "behaviour"
			c.Session, c.Heading = "s-"+BobWord, BobWord
			c.Evidence = []ken.Evidence{ken.FromUserStatement("s-"+BobWord, "m1")}
			switch i {
			case 4:
				c.Kind = ken.KindHot
			case 5:
				c.Kind, c.Status = ken.KindPattern, ken.StatusHypothesis
			}
		})}
		steps = append(steps, f.learnFor(Bob, t))
	}
	return steps
}
