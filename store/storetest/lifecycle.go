package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

func testTransition(k *kit) {
	k.sub("every pair of statuses", func(k *kit) {
		for _, from := range ken.Statuses() {
			for _, to := range ken.Statuses() {
				id := k.write("a claim that is "+string(from)+" and wants to be "+string(to), withStatus(from))
				err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: to})
				status, events := k.get(id).Status, len(k.history(id))
				if ken.CheckTransition(from, to, "") == nil {
					if err != nil || status != to || events != 2 {
						k.Errorf("%s to %s: %v; it is %s after %d events", from, to, err, status, events)
					}
					continue
				}
				k.wantErr(err, ken.ErrRefused, "status")
				if err != nil && (!strings.Contains(err.Error(), string(from)) || !strings.Contains(err.Error(), string(to))) {
					k.Errorf("%s to %s: %q does not name both", from, to, err)
				}
				if status != from || events != 1 {
					k.Errorf("%s to %s was refused, but it is %s after %d events", from, to, status, events)
				}
			}
		}
	})

	k.sub("lapsed opens one more edge", func(k *kit) {
		for _, from := range []ken.Status{ken.StatusObserved, ken.StatusVerified} {
			id := k.write("a pattern that nobody used", withStatus(from))
			if err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusHypothesis, Reason: ken.ReasonLapsed}); err != nil {
				k.Errorf("from %s: %v", from, err)
			}
		}
		if found := k.ask("pattern"); len(found) != 0 {
			k.Error("a lapsed claim is still recalled")
		}
	})

	k.sub("a contradiction deletes nothing", func(k *kit) {
		a, b := k.write("The sagas time out after 5 s."), k.write("The sagas time out after 9 s.")
		k.transition(a, ken.StatusDisputed)
		if found := k.ask("sagas"); !slices.Equal(found, []string{b}) {
			k.Errorf("recalled %v, want the undisputed one", found)
		}
		all := ids(k.query(ken.Query{Question: "sagas", Filter: ken.Filter{Statuses: ken.Statuses()}}))
		if !sameSet(all, []string{a, b}) {
			k.Errorf("kept %v, want both", all)
		}
		k.transition(a, ken.StatusVerified)
		if found := k.ask("sagas"); !sameSet(found, []string{a, b}) {
			k.Errorf("resolved in its favour, recalled are %v", found)
		}
	})

	k.sub("evidence is added, each piece once", func(k *kit) {
		id := k.write("payments uses sagas")
		human := ken.FromHumanAssertion("ada", epoch, "read the code")
		for _, to := range []ken.Status{ken.StatusVerified, ken.StatusDisputed, ken.StatusVerified} {
			if err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: to, Evidence: []ken.Evidence{human}}); err != nil {
				k.Fatal(err)
			}
		}
		c := k.get(id)
		if want := []ken.Evidence{ken.FromArtifact("storetest", ""), human}; !cmp.Equal(want, c.Evidence) {
			k.Errorf("evidence %+v", c.Evidence)
		}
		if tier := c.Support(nil).Tier; tier != ken.Verified {
			k.Errorf("a person verified it, and its tier is %v", tier)
		}
	})

	k.sub("bad requests", func(k *kit) {
		id := k.write("payments uses sagas")
		move := func(t ken.Transition) error { return k.s.Transition(k.ctx, t) }
		k.wantErr(move(ken.Transition{ID: id, To: "confirmed"}), ken.ErrInvalid, "status")
		k.wantErr(move(ken.Transition{ID: id, To: ken.StatusVerified, Evidence: []ken.Evidence{{Kind: "rumour"}}}), ken.ErrInvalid, "")
		for _, unknown := range []string{"", "adr-7", uuid.NewString()} {
			k.wantErr(move(ken.Transition{ID: unknown, To: ken.StatusVerified}), ken.ErrNotFound, "")
		}
		if n := len(k.history(id)); n != 1 {
			k.Errorf("%d events after refused requests", n)
		}
	})
}

func testSupersede(k *kit) {
	k.sub("links go both ways", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		a, b := k.get(old), k.get(next)
		if a.Status != ken.StatusSuperseded || a.SupersededBy != next || a.Supersedes != "" {
			k.Errorf("the old claim: %s, superseded by %q, supersedes %q", a.Status, a.SupersededBy, a.Supersedes)
		}
		if b.Status != ken.StatusObserved || b.Supersedes != old || b.SupersededBy != "" {
			k.Errorf("the new claim: %s, supersedes %q, superseded by %q", b.Status, b.Supersedes, b.SupersededBy)
		}
		if found := k.ask("payments"); !slices.Equal(found, []string{next}) {
			k.Errorf("recalled %v, want the new one", found)
		}
	})

	k.sub("repeating it changes nothing", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		before, historyOld, historyNext := k.get(old), len(k.history(old)), len(k.history(next))
		k.supersede(old, next)
		if diff := cmp.Diff(before, k.get(old)); diff != "" {
			k.Errorf("(-before +after):\n%s", diff)
		}
		if len(k.history(old)) != historyOld || len(k.history(next)) != historyNext {
			k.Error("a repeated call left an event")
		}
	})

	k.sub("every status but superseded can be", func(k *kit) {
		next := k.write("what replaces them all")
		for _, from := range ken.Statuses() {
			old := k.write("a claim that is "+string(from), withStatus(from))
			err := k.s.Supersede(k.ctx, old, next)
			if from == ken.StatusSuperseded {
				k.wantErr(err, ken.ErrRefused, "")
			} else if err != nil {
				k.Errorf("from %s: %v", from, err)
			}
		}
	})

	k.sub("refused", func(k *kit) {
		a, b, c := k.write("first"), k.write("second"), k.write("third")
		k.supersede(a, b)
		k.wantErr(k.s.Supersede(k.ctx, a, c), ken.ErrRefused, "") // there is one successor
		k.wantErr(k.s.Supersede(k.ctx, c, c), ken.ErrRefused, "")
		k.wantErr(k.s.Supersede(k.ctx, b, a), ken.ErrRefused, "") // both would be gone
		k.supersede(b, c)
		k.wantErr(k.s.Supersede(k.ctx, c, a), ken.ErrRefused, "") // a longer circle
		k.wantErr(k.s.Supersede(k.ctx, uuid.NewString(), c), ken.ErrNotFound, "")
		k.wantErr(k.s.Supersede(k.ctx, c, uuid.NewString()), ken.ErrNotFound, "")
		k.wantErr(k.s.Supersede(k.ctx, c, ""), ken.ErrNotFound, "")
		if got := k.get(a); got.SupersededBy != b {
			k.Errorf("the first is now superseded by %q", got.SupersededBy)
		}
		if got := k.get(c); got.Status != ken.StatusObserved {
			k.Errorf("the one that stands is now %s", got.Status)
		}
	})

	k.sub("two claims may have one successor", func(k *kit) {
		a, b, c := k.write("first"), k.write("second"), k.write("both in one")
		k.supersede(a, c)
		k.supersede(b, c)
		if k.get(a).SupersededBy != c || k.get(b).SupersededBy != c {
			k.Error("one of them lost its successor")
		}
		var named []string
		for _, e := range k.history(c)[1:] {
			named = append(named, e.Other)
		}
		if !slices.Equal(named, []string{a, b}) {
			k.Errorf("its history names %v, want both", named)
		}
	})
}

func testHistory(k *kit) {
	k.sub("says what happened", func(k *kit) {
		actor := ken.Actor{Type: "user", ID: "ada"}
		start := k.clock.Now()
		first := ken.FromArtifact("storetest", "")
		id := k.write("payments uses sagas", withKey("adr-7"), func(c *ken.Claim) { c.Actor = ken.Actor{Type: "agent", ID: "reviewer"} })
		human := ken.FromHumanAssertion("ada", epoch, "read the code")
		err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified, Reason: "read the code",
			Evidence: []ken.Evidence{human}, Actor: actor})
		if err != nil {
			k.Fatal(err)
		}
		k.write("payments uses sagas everywhere", withKey("adr-7"))
		next := k.write("payments uses two-phase commit")
		k.supersede(id, next)

		got := k.history(id)
		checkTimes(k, got, start)
		want := []ken.ClaimEvent{
			{Type: ken.EventWritten, To: ken.StatusObserved, Evidence: []ken.Evidence{first}, Actor: ken.Actor{Type: "agent", ID: "reviewer"}},
			{Type: ken.EventTransitioned, From: ken.StatusObserved, To: ken.StatusVerified, Reason: "read the code",
				Evidence: []ken.Evidence{human}, Actor: actor},
			{Type: ken.EventRevised, To: ken.StatusObserved}, // nobody verified the new words
			{Type: ken.EventSuperseded, From: ken.StatusObserved, To: ken.StatusSuperseded, Other: next},
		}
		for i := range got { // what depends on the store
			got[i].Seq, got[i].At = 0, epoch
			if i < len(want) {
				want[i].At = epoch
			}
			if got[i].Type == ken.EventRevised { // whether the evidence is all or new
				got[i].Evidence = nil
			}
			if len(got[i].Evidence) == 0 {
				got[i].Evidence = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.Errorf("(-want +got):\n%s", diff)
		}
	})

	k.sub("the successor's tells of it too", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		if types := k.historyTypes(next); !slices.Equal(types, []ken.EventType{ken.EventWritten, ken.EventSuperseded}) {
			k.Fatalf("history %v", types)
		}
		if e := k.history(next)[1]; e.Other != old || e.To != "" {
			k.Errorf("it reads as if the successor was superseded: %+v", e)
		}
	})

	k.sub("of an unknown claim", func(k *kit) {
		for _, id := range []string{"", "adr-7", uuid.NewString()} {
			_, err := k.s.History(k.ctx, id)
			k.wantErr(err, ken.ErrNotFound, "")
		}
	})

	k.sub("is JSON that people can keep", func(k *kit) {
		id := k.write("payments uses sagas")
		k.transition(id, ken.StatusVerified)
		want := k.history(id)
		b, err := json.Marshal(want)
		if err != nil {
			k.Fatal(err)
		}
		var got []ken.ClaimEvent
		if err := json.Unmarshal(b, &got); err != nil {
			k.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(b) {
			k.Errorf("%s became %s, %v", b, again, err)
		}
	})
}

// checkTimes checks that events come in the order in which they happened, all
// after start.
func checkTimes(k *kit, events []ken.ClaimEvent, start time.Time) {
	k.Helper()
	var seq uint64
	for _, e := range events {
		if !e.At.After(start) || e.At.After(k.clock.Now()) {
			k.Errorf("%s at %v, after what happened at %v", e.Type, e.At, start)
		}
		if e.Seq != 0 && e.Seq <= seq {
			k.Errorf("%s has number %d after %d", e.Type, e.Seq, seq)
		}
		start, seq = e.At, e.Seq
	}
}
