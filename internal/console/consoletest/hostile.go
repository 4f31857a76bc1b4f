package consoletest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Texts that do something when a page believes them. Each sets window.pwned, which a test
// looks at. The store takes out of claims what can't be seen, such as control characters
// and marks of direction; what it lets in, a page has to bear.
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

// longWord has no place to break, and huge is as long as a claim may be.
const (
	longWord = 10_000
	huge     = ken.MaxTextBytes
)

// hostile claims are what somebody may write who wants something from whoever looks.
func (f *furnisher) hostile() []step {
	external := like(func(c *ken.Claim) {
		for i := range c.Evidence {
			c.Evidence[i].Trust = ken.TrustExternal
		}
	})
	at := f.o.Now
	list := []told{
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

// hugeText is as much as a claim holds, of words.
func hugeText() string {
	const line = "The ledger of payments has one more entry, and the bank has not heard of it " + image + ".\n"
	return strings.Repeat(line, huge/len(line))
}

// batch is how many claims are written in one transaction.
const batch = 2_000

// synthetic claims are many and plausible: sentences about services, people and rules, with
// tags, scopes and evidence as real ones have them, over the year before the story.
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

// sentence is one claim. The number is in it, so that none is written twice.
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
