package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
)

func TestSupersededClaimsAreArchivedAndStayQueryable(t *testing.T) {
	each(t, func(k *kit) {
		old := k.write("We use sagas for payments.", ofKind(ken.KindDecision), is(ken.StatusVerified), func(c *ken.Claim) { c.Heading = "ADR-7" })
		next := k.write("We use two-phase commit for payments.", ofKind(ken.KindDecision), is(ken.StatusVerified))
		k.must(k.Supersede(k.Context(), old, next))
		fact := k.write("The port of payments is 8080.")
		k.must(k.Supersede(k.Context(), fact, next))
		k.set(epoch.Add(30*day - time.Second))
		if got := rows(k.plan(lifecycle.Default().Decay(90))); got != "" {
			k.Fatalf("too early: %s", got)
		}
		k.set(epoch.Add(30 * day))
		changes := k.plan(lifecycle.Default().Decay(90))
		if got := rows(changes); got != "archive superseded decision superseded>archived\narchive superseded fact superseded>archived" {
			k.Fatalf("got %s", got)
		}
		c := changes[0]
		if c.ID != old || c.What != "ADR-7" || c.Why != "superseded 30 days ago by "+next || !c.Due.Equal(k.now()) || c.Count != 1 || c.Computed {
			k.Errorf("got %+v", c)
		}
		if r := k.apply(changes); len(r.Done) != 2 {
			k.Errorf("report %+v", r)
		}
		if a := k.claim(old).ArchivedAt; !a.Equal(k.now()) {
			k.Errorf("archived at %v", a)
		}
		events, err := k.History(k.Context(), old)
		k.must(err)
		if last := events[len(events)-1]; last.Type != ken.EventArchived || last.Reason != c.Why || last.Actor != (ken.Actor{Type: "system", ID: "gc"}) {
			k.Errorf("history ends with %+v", last)
		}
		if again := k.plan(lifecycle.Default().Decay(90)); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
		recalled, err := k.Query(k.Context(), ken.Query{Question: "payments"})
		k.must(err)
		if len(recalled) != 1 || recalled[0].ID != next {
			k.Errorf("recalled %+v", recalled)
		}
		found, err := lifecycle.Archived(k.Context(), k.stock, "sagas", ken.Filter{}, 0)
		k.must(err)
		if len(found) != 1 || found[0].ID != old {
			k.Errorf("the archive has %+v", found)
		}
		if found, err = lifecycle.Archived(k.Context(), k.stock, "", ken.Filter{}, 5); err != nil || len(found) != 2 {
			k.Errorf("all of the archive: %d claims, %v", len(found), err)
		}
		if found, err = lifecycle.Archived(k.Context(), k.stock, "", ken.Filter{Kinds: []ken.Kind{ken.KindFact}}, 1); err != nil || len(found) != 1 || found[0].ID != fact {
			k.Errorf("of one kind: %+v, %v", found, err)
		}
	})
}

// The archive is found behind more than what stands and answers as well.
func TestArchivedLooksBehindWhatIsNotArchived(t *testing.T) {
	each(t, func(k *kit) {
		id := k.write("The freeze ends on Friday.", func(c *ken.Claim) { c.ExpiresAt = epoch.Add(day) })
		for range 60 {
			k.write("freeze freeze freeze")
		}
		k.set(epoch.Add(2 * day))
		k.apply(k.plan(lifecycle.Default().Decay(90)))
		for _, question := range []string{"freeze", ""} {
			found, err := lifecycle.Archived(k.Context(), k.stock, question, ken.Filter{}, 3)
			if err != nil || len(found) != 1 || found[0].ID != id {
				k.Errorf("%q finds %d claims, %v", question, len(found), err)
			}
		}
	})
}

func TestExpiredClaimsAreArchived(t *testing.T) {
	each(t, func(k *kit) {
		until := func(at time.Time) func(*ken.Claim) { return func(c *ken.Claim) { c.ExpiresAt = at } }
		over := k.write("The freeze ends on Friday.", until(epoch.Add(day)))
		k.write("The licence ends in May.", until(epoch.Add(60*day)))
		both := k.write("The old freeze.", until(epoch.Add(day)))
		k.must(k.Supersede(k.Context(), both, over))
		k.set(epoch.Add(40 * day))
		changes := k.plan(lifecycle.Default().Decay(90))
		if got := rows(changes); got != "archive superseded fact superseded>archived\narchive expired fact observed>archived" {
			k.Fatalf("got %s", got)
		}
		if r := k.apply(changes); len(r.Done) != 2 || k.claim(over).ArchivedAt.IsZero() || k.claim(both).ArchivedAt.IsZero() {
			k.Errorf("report %+v", r)
		}
		p := lifecycle.Default().Decay(90)
		p.ArchiveExpiredDays = 25
		k.set(epoch.Add(70 * day))
		if got := rows(k.plan(p)); got != "" {
			k.Errorf("before its time: %s", got)
		}
	})
}

// A task that is over and a link that was replaced are in nobody's recall, and not for
// ever in the store either.
func TestStructuralClaimsAreArchived(t *testing.T) {
	each(t, func(k *kit) {
		about := func(c *ken.Claim) { c.Entities = []string{"payments", "ledger"} }
		task := k.write("Rotate the keys of payments.", about, ofKind(ken.KindEntity), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(day) })
		old := k.write("payments uses ledger", about, ofKind(ken.KindDependency))
		k.must(k.Supersede(k.Context(), old, k.write("payments requires ledger", about, ofKind(ken.KindDependency))))
		k.set(epoch.Add(40 * day))
		changes := k.plan(lifecycle.Default().Decay(90))
		if got := rows(changes); got != "archive superseded dependency superseded>archived\narchive expired entity observed>archived" {
			k.Fatalf("got %s", got)
		}
		if r := k.apply(changes); len(r.Done) != 2 || k.claim(task).ArchivedAt.IsZero() || k.claim(old).ArchivedAt.IsZero() {
			k.Errorf("report %+v", r)
		}
		if again := k.plan(lifecycle.Default().Decay(90)); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
		if found, err := lifecycle.Archived(k.Context(), k.stock, "keys", ken.Filter{}, 0); err != nil || len(found) != 1 || found[0].ID != task {
			k.Errorf("the archive has %+v, %v", found, err)
		}
		if found, err := lifecycle.Archived(k.Context(), k.stock, "", ken.Filter{}, 0); err != nil || len(found) != 2 {
			k.Errorf("all of the archive: %+v, %v", found, err)
		}
	})
}

func TestApprovedPatternsLapseAndCandidatesStay(t *testing.T) {
	each(t, func(k *kit) {
		pattern := func(text string, s ken.Status) string { return k.write(text, ofKind(ken.KindPattern), is(s)) }
		lapsed := pattern("make test succeeds", ken.StatusObserved)
		verified := pattern("go vet succeeds", ken.StatusVerified)
		candidate := pattern("make lint fails", ken.StatusHypothesis)
		seen := pattern("go build succeeds", ken.StatusObserved)
		late := pattern("make e2e succeeds", ken.StatusHypothesis)
		k.write("a fact is no pattern")
		k.set(epoch.Add(50 * day))
		k.must(k.Reinforce(k.Context(), seen, nil, ken.Actor{}))
		k.must(k.Transition(k.Context(), ken.Transition{ID: late, To: ken.StatusObserved})) // approved today
		k.set(epoch.Add(90 * day))
		changes := k.plan(lifecycle.Default().Decay(90))
		if got := rows(changes); got != "demote patterns pattern observed>hypothesis\ndemote patterns pattern verified>hypothesis" &&
			got != "demote patterns pattern verified>hypothesis\ndemote patterns pattern observed>hypothesis" {
			k.Fatalf("got %s", got)
		}
		k.apply(changes)
		for id, want := range map[string]ken.Status{lapsed: ken.StatusHypothesis, verified: ken.StatusHypothesis, candidate: ken.StatusHypothesis,
			seen: ken.StatusObserved, late: ken.StatusObserved} {
			if c := k.claim(id); c.Status != want {
				k.Errorf("%s is %s, want %s", c.Text, c.Status, want)
			}
		}
		events, err := k.History(k.Context(), lapsed)
		k.must(err)
		if last := events[len(events)-1]; last.Reason != ken.ReasonLapsed {
			k.Errorf("history ends with %+v", last)
		}
		if n, err := k.History(k.Context(), candidate); err != nil || len(n) != 1 {
			k.Errorf("the candidate was touched: %+v, %v", n, err)
		}
		if again := k.plan(lifecycle.Default().Decay(90)); len(again) != 0 {
			k.Errorf("planned again: %s", rows(again))
		}
	})
}

func TestDecayIsShownAndWritesNothing(t *testing.T) {
	each(t, func(k *kit) {
		proof := func(c *ken.Claim) {
			c.Evidence = []ken.Evidence{{Kind: ken.EvidenceTestResult, ID: "TestSaga", FetchedAt: c.CreatedAt}, {Kind: ken.EvidenceValidator, ID: "lint", FetchedAt: c.CreatedAt}}
		}
		first := k.write("The sagas time out after 5 s.", at(epoch.Add(-100*day)), proof)
		k.write("The sagas are retried twice.", at(epoch.Add(-95*day)), proof)
		k.write("The sagas are new.", at(epoch.Add(-10*day)), proof)
		k.write("The sagas are talked about.", at(epoch.Add(-100*day)))
		changes := k.plan(lifecycle.Default().Decay(90))
		if len(changes) != 1 {
			k.Fatalf("got %s", rows(changes))
		}
		c := changes[0]
		if c.Rule != lifecycle.DecayConfidence || !c.Computed || c.Count != 2 || c.ID != first || c.From != "Verified" || c.To != "Inferred" ||
			c.What != "2 claims, the oldest: The sagas time out after 5 s." || !strings.Contains(c.Why, "nothing is written") || !c.Due.Equal(epoch.Add(-10*day)) {
			k.Errorf("got %+v", c)
		}
		if r := k.apply(changes); len(r.Done) != 0 || len(r.Skipped) != 1 {
			k.Errorf("report %+v", r)
		}
		if n, err := k.History(k.Context(), first); err != nil || len(n) != 1 {
			k.Errorf("something was written: %+v, %v", n, err)
		}
	})
}

// What happens between a dry run and its application is not run over.
func TestApplyLeavesAloneWhatHasChanged(t *testing.T) {
	each(t, func(k *kit) {
		pattern := k.write("make test succeeds", ofKind(ken.KindPattern))
		key := func(c *ken.Claim) { c.Key = "freeze" }
		k.write("The freeze ends on Friday.", key, func(c *ken.Claim) { c.ExpiresAt = epoch.Add(day) })
		k.set(epoch.Add(100 * day))
		changes := k.plan(lifecycle.Default().Decay(90))
		if len(changes) != 2 {
			k.Fatalf("got %s", rows(changes))
		}
		k.must(k.Reinforce(k.Context(), pattern, nil, ken.Actor{}))
		k.write("The freeze ends on Monday.", key, func(c *ken.Claim) { c.ExpiresAt, c.UpdatedAt = epoch.Add(200*day), k.now() })
		r := k.apply(changes)
		if len(r.Done) != 0 || len(r.Skipped) != 2 || len(r.Failed) != 0 {
			k.Errorf("report %+v", r)
		}
		if c := k.claim(pattern); c.Status != ken.StatusObserved {
			k.Errorf("seen again, and now %s", c.Status)
		}
	})
}

func TestNeverSwitchesRulesOff(t *testing.T) {
	each(t, func(k *kit) {
		k.write("The freeze ends on Friday.", func(c *ken.Claim) { c.ExpiresAt = epoch })
		k.write("make test succeeds", ofKind(ken.KindPattern))
		old := k.write("old", is(ken.StatusSuperseded))
		k.write("proved", func(c *ken.Claim) {
			c.Evidence = []ken.Evidence{{Kind: ken.EvidenceTestResult, ID: "T"}, {Kind: ken.EvidenceValidator, ID: "l"}}
		})
		k.set(epoch.Add(1000 * day))
		if got := k.plan(lifecycle.Default().Decay(90)); len(got) != 4 {
			k.Fatalf("by default: %s", rows(got))
		}
		off := lifecycle.Policy{MemoryReinforceWindowDays: lifecycle.Never, ConfidenceDecayDays: lifecycle.Never, ArchiveSupersededDays: lifecycle.Never,
			ArchiveExpiredDays: lifecycle.Never, JournalGraceDays: lifecycle.Never, DoneJobsDays: lifecycle.Never, EventsDays: lifecycle.Never, SessionsDays: lifecycle.Never}
		if got := rows(k.plan(off)); got != "" {
			k.Errorf("switched off: %s", got)
		}
		if !k.claim(old).ArchivedAt.IsZero() {
			k.Error("a plan has changed something")
		}
	})
}

// A clock that was set back makes nothing due.
func TestClockSetBack(t *testing.T) {
	each(t, func(k *kit) {
		old := k.write("old")
		k.must(k.Supersede(k.Context(), old, k.write("new")))
		k.write("make test succeeds", ofKind(ken.KindPattern))
		k.set(epoch.Add(-1000 * day))
		if got := rows(k.plan(lifecycle.Default().Decay(90))); got != "" {
			k.Errorf("got %s", got)
		}
	})
}

func TestPlanAndApplyStopWithTheirContext(t *testing.T) {
	each(t, func(k *kit) {
		k.write("over", func(c *ken.Claim) { c.ExpiresAt = epoch })
		changes := k.plan(lifecycle.Default().Decay(90))
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		if _, err := lifecycle.Plan(ctx, k.deps, lifecycle.Default().Decay(90)); !errors.Is(err, context.Canceled) {
			k.Errorf("plan: %v", err)
		}
		r, err := lifecycle.Apply(ctx, k.deps, changes, nil)
		if !errors.Is(err, context.Canceled) || len(r.Done) != 0 {
			k.Errorf("apply: %+v, %v", r, err)
		}
	})
}

// What fails is told, and the rest goes on.
func TestApplyGoesOnPastWhatFails(t *testing.T) {
	each(t, func(k *kit) {
		for range 3 {
			k.write("over", func(c *ken.Claim) { c.ExpiresAt = epoch })
		}
		changes := k.plan(lifecycle.Default().Decay(90))
		disk := errors.New("disk full")
		k.deps.Store = failing{k.stock, changes[1].ID, disk}
		var told []int
		r, err := lifecycle.Apply(k.Context(), k.deps, changes, func(done, total int) { told = append(told, done, total) })
		if !errors.Is(err, disk) || len(r.Done) != 2 || len(r.Failed) != 1 || r.Failed[0].Change.ID != changes[1].ID || !errors.Is(r.Failed[0].Err, disk) {
			k.Errorf("report %+v, %v", r, err)
		}
		if !slices.Equal(told, []int{1, 3, 2, 3, 3, 3}) {
			k.Errorf("progress %v", told)
		}
		k.deps.Store = k.stock
		if r := k.apply(changes); len(r.Done) != 3 {
			k.Errorf("again: %+v", r)
		}
		if len(k.plan(lifecycle.Default().Decay(90))) != 0 {
			k.Error("something is left")
		}
	})
}

// failing is a store that can't archive one claim.
type failing struct {
	stock
	id  string
	err error
}

func (f failing) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	if id == f.id {
		return f.err
	}
	return f.stock.Archive(ctx, id, reason, actor)
}
