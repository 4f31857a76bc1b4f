package drift_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/store/memory"
)

func TestRecord(t *testing.T) {
	at := time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	s := memory.New(memory.Options{Now: now})
	ctx := t.Context()
	standing := func() (out []ken.Claim) {
		for c, err := range s.Scan(ctx, &ken.Filter{Kinds: []ken.Kind{ken.KindFinding}, Now: at}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, c)
		}
		return out
	}
	bad := drift.Violation{Fingerprint: "f", Rule: drift.RuleDependency, File: "src/core/a.cs", Line: 3, Layer: "Core", Import: "namespace:Shop.Data", ImportLayer: "Data",
		How: "exact", Hash: "sha256:aa"}
	other := bad
	other.File, other.Hash = "src/core/b.cs", "sha256:bb"
	lost := drift.Violation{Rule: drift.RuleUnassigned, File: "lost.cs", Line: 1, Hash: "sha256:cc"}
	record := func(manifest string, vs ...drift.Violation) drift.Recorded {
		t.Helper()
		at = at.Add(time.Hour)
		done, err := drift.Record(ctx, s, &drift.Report{Manifest: manifest, Violations: vs[:len(vs)/2], Known: vs[len(vs)/2:]}, at)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}

	first := record(drift.DefaultManifest, bad, other, lost)
	if len(first.Written) != 3 || len(first.Again)+len(first.Fixed) != 0 {
		t.Fatalf("%+v", first)
	}
	c, err := s.Get(ctx, first.Written[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := "Layer Core must not import Shop.Data (layer Data): it may depend on no other; src/core/a.cs does."; c.Text != want {
		t.Error(c.Text)
	}
	if c.Kind != ken.KindFinding || len(c.Evidence) != 2 || c.Evidence[0].Kind != ken.EvidenceValidator || c.Evidence[1].ContentHash != "sha256:aa" || c.Support(nil).Tier != ken.Inferred {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"src/core/a.cs", "Core", "Data"} {
		if !slices.ContainsFunc(c.Entities, func(e string) bool { return strings.EqualFold(e, name) }) {
			t.Errorf("%s is not among %q", name, c.Entities)
		}
	}

	// The same again, on another line of other content: the same claims, with no more evidence.
	bad.Line, bad.Hash = 9, "sha256:dd"
	if again := record(drift.DefaultManifest, bad, other, lost); len(again.Again) != 3 || again.Again[0] != first.Written[0] || len(again.Written)+len(again.Fixed) != 0 {
		t.Fatalf("%+v", again)
	}
	if c, err = s.Get(ctx, c.ID); err != nil || c.Reinforcements != 1 || len(c.Evidence) != 2 || c.Evidence[1].ContentHash != "sha256:dd" {
		t.Errorf("%+v, %v", c, err)
	}
	if n := len(standing()); n != 3 {
		t.Errorf("%d stand", n)
	}

	// Another manifest knows nothing of these.
	if o := record("docs/layers.yaml", other); len(o.Written) != 1 || len(o.Fixed) != 0 {
		t.Errorf("%+v", o)
	}
	if o := record("docs/layers.yaml"); len(o.Fixed) != 1 {
		t.Errorf("%+v", o)
	}

	// A fixed violation is superseded by a claim that expires. If it occurs again, it is
	// a new claim.
	if done := record(drift.DefaultManifest, other, lost); len(done.Fixed) != 1 || len(done.Again) != 2 {
		t.Fatalf("%+v", done)
	}
	if c, err = s.Get(ctx, c.ID); err != nil || c.Status != ken.StatusSuperseded {
		t.Errorf("%+v, %v", c, err)
	}
	if done := record(drift.DefaultManifest, other, lost); len(done.Fixed) != 0 {
		t.Errorf("fixed twice: %+v", done)
	}
	if done := record(drift.DefaultManifest, bad, other, lost); len(done.Written) != 1 || done.Written[0] == c.ID {
		t.Errorf("%+v", done)
	}
	record(drift.DefaultManifest)
	at = at.Add(40 * 24 * time.Hour)
	if left := standing(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

type broken struct{ drift.ClaimStore }

func (broken) ByKey(context.Context, string) (ken.Claim, error) {
	return ken.Claim{}, errors.New("broken")
}

func TestRecordSaysWhatTheStoreSays(t *testing.T) {
	s := broken{memory.New(memory.Options{})}
	r := &drift.Report{Manifest: "m", Violations: []drift.Violation{{Rule: drift.RuleUnassigned, File: "a"}}}
	if _, err := drift.Record(t.Context(), s, r, time.Now()); err == nil || err.Error() != "record drift: broken" {
		t.Error(err)
	}
}
