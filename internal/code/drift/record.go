package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store"
)

// Validator is the validator's name on the claims that Record writes; a manifest that is not DefaultManifest is
// named behind it.
const Validator = "ken drift"

// fixedFor is how long it is told that a violation is fixed: afterwards nobody asks.
const fixedFor = 30 * 24 * time.Hour

// ClaimStore is what Record needs of a store; every store.Engine is one.
type ClaimStore interface {
	provenance.Store
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

// Recorded says what Record did, by the IDs of claims.
type Recorded struct {
	Written []string `json:"written"` // violations that were not known, or had been fixed
	Again   []string `json:"again"`   // that were seen again
	Fixed   []string `json:"fixed"`   // what replaces violations that are no more
}

// Record keeps the violations of a report, those in the baseline too, as claims of a store,
// by provenance.Record: each is one check, whose claim is reinforced when it is seen again
// and superseded when the violation is no more. What it rests on is the validator and
// the file as it was. now is when the files were looked at. Errors are the store's; what
// was done until then stays, and doing it again does the rest.
func Record(ctx context.Context, s ClaimStore, r *Report, now time.Time) (Recorded, error) {
	out := Recorded{Written: []string{}, Again: []string{}, Fixed: []string{}}
	there := map[string]bool{}
	all := slices.Concat(r.Violations, r.Known)
	for i := range all {
		c := all[i].check(r.Manifest, now)
		there[c.Target] = true
		done, err := provenance.Record(ctx, s, c, now)
		if err != nil {
			return out, fmt.Errorf("record drift: %w", err)
		}
		switch done.Outcome {
		case provenance.Written, provenance.Turned:
			out.Written = append(out.Written, done.ID)
		default:
			out.Again = append(out.Again, done.ID)
		}
	}
	gone, err := openViolations(ctx, s, validator(r.Manifest), there, now)
	if err != nil {
		return out, fmt.Errorf("record drift: %w", err)
	}
	for _, target := range gone {
		done, err := provenance.Record(ctx, s, provenance.Check{
			Validator: validator(r.Manifest), Target: target, Statement: "Fixed: it is no longer so that " + target + ".", Passed: true, Settles: true,
			Evidence: []ken.Evidence{validated(r.Manifest, "not found any more", now)}, ExpiresAt: now.Add(fixedFor),
		}, now)
		if err != nil {
			return out, fmt.Errorf("record drift: %w", err)
		}
		out.Fixed = append(out.Fixed, done.ID)
	}
	return out, nil
}

// openViolations lists what claims say to be violations and is not there, in order.
func openViolations(ctx context.Context, s ClaimStore, validator string, there map[string]bool, now time.Time) (targets []string, err error) {
	f := &ken.Filter{Kinds: []ken.Kind{ken.KindFinding}, ClaimsOnly: true, Now: now}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return nil, err
		}
		var body struct {
			Target string
			Passed bool
		}
		if c.Source == validator && json.Unmarshal(c.Body, &body) == nil && !body.Passed && body.Target != "" && !there[body.Target] {
			targets = append(targets, body.Target)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets), nil
}

// check is a violation as a check that failed.
func (v *Violation) check(manifest string, now time.Time) provenance.Check {
	c := provenance.Check{Validator: validator(manifest), Evidence: []ken.Evidence{validated(manifest, v.Message(), now)}}
	if v.Rule == RuleUnassigned {
		c.Target = v.File + " is in no layer"
		c.Statement, c.About = c.Target+" of the architecture.", []string{v.File}
	} else {
		c.Target = v.File + " imports " + v.Imports()
		c.Statement = strings.ToUpper(v.Message()[:1]) + v.Message()[1:] + "; " + v.File + " does."
		c.About = []string{v.File, v.Layer, v.ImportLayer}
	}
	if v.Hash != "" {
		// No line: when others come above it, it would be another piece.
		file := ken.FromFile(v.File, "", "")
		file.ContentHash, file.FetchedAt, file.Trust = v.Hash, now, ken.TrustAgent
		file.Detail = fmt.Sprintf("line %d: %s", v.Line, v.Imports())
		c.Evidence = append(c.Evidence, file)
	}
	return c
}

func validator(manifest string) string {
	if manifest == DefaultManifest {
		return Validator
	}
	return Validator + " " + manifest
}

func validated(manifest, summary string, now time.Time) ken.Evidence {
	e := ken.FromValidator(validator(manifest), summary)
	e.FetchedAt = now
	return e
}
