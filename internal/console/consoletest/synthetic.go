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
