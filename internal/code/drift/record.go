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

// Validator is the validator's name on the claims that Record writes. A manifest other than DefaultManifest is added to
// it.
const Validator = "ken drift"

// fixedValidity is how long claims about fixed violations are valid.
const fixedValidity = 30 * 24 * time.Hour

// ClaimStore is the part of a store that Record uses. Every store.Engine implements it.
type ClaimStore interface {
	provenance.Store
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

// Recorded lists what Record did, by IDs of claims.
type Recorded struct {
	Written []string `json:"written"` // violations that were not recorded, or had been fixed
	Again   []string `json:"again"`   // violations that were recorded already
	Fixed   []string `json:"fixed"`   // claims that replace violations that no longer exist
	Lifted  []string `json:"lifted"`  // claims that replace violations that exist and are no longer forbidden
}

// Record stores the violations of a report, including known ones, as claims, with provenance.Record. Each violation is
// a check. Its claim is reinforced when the violation is found again, and superseded when it no longer exists or is no
// longer forbidden. The evidence is the validator and the content of the file. now is the time of the check. Errors are the store's. What was
// stored before an error remains, and another call completes it.
func Record(ctx context.Context, s ClaimStore, r *Report, now time.Time) (Recorded, error) {
	out := Recorded{Written: []string{}, Again: []string{}, Fixed: []string{}, Lifted: []string{}}
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
	left := r.remaining(gone)
	for _, target := range gone {
		statement, observed, list := "Fixed: it is no longer so that "+target+".", "not found any more", &out.Fixed
		if left[target] != "" {
			statement, observed, list = "No longer forbidden: it is still so that "+target+".", string(left[target]), &out.Lifted
		}
		done, err := provenance.Record(ctx, s, provenance.Check{
			Validator: validator(r.Manifest), Target: target, Statement: statement, Passed: true, Settles: true,
			Evidence: []ken.Evidence{validated(r.Manifest, observed, now)}, ExpiresAt: now.Add(fixedValidity),
		}, now)
		if err != nil {
			return out, fmt.Errorf("record drift: %w", err)
		}
		*list = append(*list, done.ID)
	}
	return out, nil
}

// openViolations lists the recorded violations that are not in there, sorted.
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

// check returns the violation as a failed check.
func (v *Violation) check(manifest string, now time.Time) provenance.Check {
	c := provenance.Check{Validator: validator(manifest), Target: target(v.Rule, v.File, v.Import), Evidence: []ken.Evidence{validated(manifest, v.Message(), now)}}
	if v.Rule == RuleUnassigned {
		c.Statement, c.About = c.Target+" of the architecture.", []string{v.File}
	} else {
		c.Statement = strings.ToUpper(v.Message()[:1]) + v.Message()[1:] + "; " + v.File + " does."
		c.About = []string{v.File, v.Layer, v.ImportLayer}
	}
	if v.Hash != "" {
		// Without the line: it changes when lines are added above, and the evidence would be a new one.
		file := ken.FromFile(v.File, "", "")
		file.ContentHash, file.FetchedAt, file.Trust = v.Hash, now, ken.TrustAgent
		file.Detail = fmt.Sprintf("line %d: %s", v.Line, v.Imports())
		c.Evidence = append(c.Evidence, file)
	}
	return c
}

// target describes what a rule may forbid: that a file imports something, or is in no layer.
func target(r Rule, file, imported string) string {
	if r == RuleUnassigned {
		return file + " is in no layer"
	}
	return file + " imports " + importName(imported)
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
