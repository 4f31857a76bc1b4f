package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

func TestReplaceKeepsWhatTheClaimIsAbout(t *testing.T) {
	k := newKit(t)
	scope := ken.Scope{Type: "project", ID: "shop"}
	until := now.AddDate(10, 0, 0)
	old := k.write("Payments must not retry more than 5 times.", is(ken.StatusVerified), func(c *ken.Claim) {
		c.Heading, c.Domain, c.Tags, c.Scope, c.Project = "Retries", "money", []string{"ops"}, scope, "shop"
		c.Entities, c.Aspect, c.Constraint, c.AssignedBy, c.ExpiresAt = []string{"payments"}, "limits", true, ken.AssignedByOperator, until
	})
	id, err := k.desk.Replace(t.Context(), old, "Payments must not retry more than 3 times.", "changed in March")
	if err != nil {
		t.Fatal(err)
	}
	c := k.get(id)
	if c.Text != "Payments must not retry more than 3 times." || c.Kind != ken.KindFact || c.Heading != "Retries" || c.Domain != "money" || c.Project != "shop" ||
		!slices.Equal(c.Tags, []string{"ops"}) || c.Scope != scope || !slices.Equal(c.Entities, []string{"payments"}) || c.Aspect != "limits" || !c.Constraint ||
		c.AssignedBy != ken.AssignedByOperator || !c.ExpiresAt.Equal(until) || c.Confidence != 1 || c.Actor.ID != "ana" {
		t.Errorf("%+v", c)
	}
	if c.Status != ken.StatusVerified || c.Support(nil).Tier != ken.Verified || len(c.Evidence) != 1 || c.Evidence[0].Detail != "changed in March" {
		t.Errorf("%s on %+v", c.Status, c.Evidence)
	}
	if was := k.get(old); was.Status != ken.StatusSuperseded || was.SupersededBy != id || c.Supersedes != old {
		t.Errorf("the old one is %s by %s", was.Status, was.SupersededBy)
	}
	if e := k.last(old); e.Actor.ID != "ana" || e.Reason != "changed in March" {
		t.Errorf("the history says %+v", e)
	}
	if _, err := k.desk.Replace(t.Context(), old, "Twice.", ""); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), id) {
		t.Errorf("replace what was replaced: %v", err)
	}
	for _, text := range []string{" " + c.Text + "\n", "", " "} {
		if _, err := k.desk.Replace(t.Context(), id, text, ""); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n := len(k.texts()); n != 2 {
		t.Errorf("%d claims: one was written for nothing", n)
	}
}

func TestReplaceOfAHotFactIsInTheFile(t *testing.T) {
	k := newKit(t)
	old := k.write("Use tabs.", ofKind(ken.KindHot))
	if _, err := k.desk.Replace(t.Context(), old, "Use spaces.", "ruled"); err != nil {
		t.Fatal(err)
	}
	if f := k.memory(); !strings.Contains(f, "- [x] Use spaces.") || strings.Contains(f, "tabs") {
		t.Errorf("%s", f)
	}
	if e := k.last(old); e.Reason != "ruled" {
		t.Errorf("the history says %+v", e)
	}
}

// stuck is a store that can't supersede.
type stuck struct {
	store.Engine
	leave  func()
	really bool // it does, and fails then
}

var errStuck = errors.New("the disk is full")

func (s stuck) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	if s.leave != nil {
		s.leave()
	}
	if s.really {
		if err := s.Engine.SupersedeFor(ctx, oldID, newID, reason, actor); err != nil {
			return err
		}
	}
	return errStuck
}

func TestReplaceLeavesNothingHalfDone(t *testing.T) {
	for _, kind := range []ken.Kind{ken.KindFact, ken.KindHot} {
		k := newKit(t)
		old := k.write("The port is 8080.", ofKind(kind))
		ctx, leave := context.WithCancel(t.Context())
		_, err := k.sit("ana", stuck{Engine: k.Engine, leave: leave}).Replace(ctx, old, "The port is 9090.", "")
		if !errors.Is(err, errStuck) {
			t.Errorf("%s: error %v", kind, err)
		}
		if got := k.texts(); len(got) != 1 || got["The port is 8080."] != ken.StatusObserved {
			t.Errorf("%s: %v", kind, got)
		}
		// An error that comes late is none: what was to happen has happened.
		id, err := k.sit("ana", stuck{Engine: k.Engine, really: true}).Replace(t.Context(), old, "The port is 9091.", "")
		if err != nil || k.get(old).SupersededBy != id {
			t.Errorf("%s: %s, %v", kind, id, err)
		}
	}
}

func TestReplaceByManyAtOnce(t *testing.T) {
	for _, kind := range []ken.Kind{ken.KindFact, ken.KindHot} {
		k := newKit(t)
		old := k.write("The port is 8080.", ofKind(kind))
		const many = 12
		ids, errs := make([]string, many), make([]error, many)
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				ids[i], errs[i] = k.sit(fmt.Sprint("person ", i), k.Engine).Replace(t.Context(), old, fmt.Sprint("The port is ", 9000+i/2), "")
			})
		}
		wg.Wait()
		by := k.get(old).SupersededBy
		won := 0
		for i := range many {
			switch {
			case errs[i] == nil && ids[i] == by:
				won++
			case !errors.Is(errs[i], ken.ErrRefused) && !errors.Is(errs[i], ken.ErrNotFound):
				t.Errorf("%s: %s, %v", kind, ids[i], errs[i])
			}
		}
		if won < 1 || won > 2 { // two say the same
			t.Errorf("%s: %d won", kind, won)
		}
		if got := k.texts(); len(got) != 2 {
			t.Errorf("%s: %v", kind, got)
		}
		k.lives()
	}
}

func TestVerifyByManyAtOnce(t *testing.T) {
	k := newKit(t)
	id := k.write("The port is 8080.")
	const many = 8
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			if err := k.sit(fmt.Sprint("person ", i), k.Engine).Verify(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if c := k.get(id); c.Status != ken.StatusVerified || c.Reinforcements != many-1 || len(c.Evidence) != 1+many {
		t.Errorf("%s, %d times again, %d pieces of evidence", c.Status, c.Reinforcements, len(c.Evidence))
	}
}
