package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Check is what a validator has to say: what was looked at and what came of it. Two
// checks of one validator, target and scope are the same check.
type Check struct {
	Validator string // who checks, such as "go vet"; not empty
	Target    string // what is checked: a path, a package, a command; not empty
	Statement string // what is known now, as a sentence that says the verdict: "the tests of pay pass"
	Passed    bool

	// Evidence is what was seen, and nothing else: the tier follows from it. Never
	// empty. A piece without a time gets that of the call.
	Evidence []ken.Evidence

	About     []string  // further names that the claim is about; Target is one already
	ExpiresAt time.Time // when the verdict is too old to count; zero never

	// Settles writes a verdict that passed only where it answers one that failed: for
	// checks whose passing nobody needs to be told.
	Settles bool

	Scope   ken.Scope
	Project string
	Session string
	Branch  string
	Actor   ken.Actor // default tool, Validator
}

// Outcome is what became of a check.
type Outcome string

// Outcomes.
const (
	Written    Outcome = "written"    // the first verdict of the check
	Reinforced Outcome = "reinforced" // the same verdict as before, and its evidence
	Revised    Outcome = "revised"    // the same verdict, in other words
	Turned     Outcome = "turned"     // the other verdict: what stood before is superseded
	Disputed   Outcome = "disputed"   // the same verdict, which somebody disputes: it stays disputed
	Nothing    Outcome = "nothing"    // see Check.Settles
)

// Recorded is what Record did.
type Recorded struct {
	ID         string  `json:"id,omitempty"` // of the claim that says the verdict; "" for Nothing
	Outcome    Outcome `json:"outcome"`
	Superseded string  `json:"superseded,omitempty"` // the claim that said the other verdict
}

// Store is what is needed of a store to write. The stores on disk and in memory are one.
type Store interface {
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

// confidence is that of every verdict: a program said so. It is the same for both, since
// to replace a claim by a less certain one is something that a person should look at.
const confidence = 0.95

// maxPieces is how many pieces of evidence a verdict gathers. Those that are there are
// refreshed all the same.
const maxPieces = 100

// Record writes a verdict as a claim of kind finding. now is when it was come by.
//
// The first verdict of a check is a new claim. The same verdict again reinforces that
// claim: its evidence grows by what is new, and the rest is as fresh as the last run.
// The other verdict is a claim of its own that supersedes the former. It does not
// dispute it, since what was seen before was true before: the thing has changed, nobody
// contests anything, and a queue of red tests is no work for who settles disputes. So at
// most one verdict of a check stands at a time, and the chain of the others says when it
// turned. What a person disputes, no validator settles by saying it again.
//
// Record may be called by several processes at a time. Errors: ErrInvalid for a check
// that lacks something, and those of the store.
func Record(ctx context.Context, s Store, c Check, now time.Time) (Recorded, error) {
	if err := c.check(); err != nil {
		return Recorded{}, err
	}
	c = c.clean(now.Round(0).UTC())
	const tries = 3 // somebody else may turn it in between
	for try := 1; ; try++ {
		r, err := record(ctx, s, &c)
		if err == nil || try == tries || !errors.Is(err, ken.ErrRefused) {
			return r, err
		}
	}
}

func (c *Check) check() error {
	for _, f := range [...]struct{ name, value, try string }{
		{"validator", c.Validator, "Name who checks."},
		{"target", c.Target, "Name what is checked."},
		{"statement", c.Statement, "Say what is known now, in one sentence."},
	} {
		if strings.TrimSpace(f.value) == "" {
			return &ken.Error{Code: ken.CodeInvalid, Field: f.name, Msg: "empty", Try: f.try}
		}
	}
	if len(c.Evidence) == 0 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "evidence", Msg: "empty: a verdict needs what was seen", Try: "Give the exit code, the test results or the files."}
	}
	return nil
}

// clean returns a check that shares nothing with the caller's and says no secrets where
// no store looks for any.
func (c Check) clean(now time.Time) Check {
	c.Validator, c.Target, c.Statement = clean.Text(c.Validator), clean.Text(c.Target), clean.Text(c.Statement)
	c.Evidence = slices.Clone(c.Evidence)
	for i := range c.Evidence {
		e := &c.Evidence[i]
		e.ID = clean.Text(e.ID)
		if e.FetchedAt.IsZero() {
			e.FetchedAt = now
		}
	}
	if c.Actor == (ken.Actor{}) {
		c.Actor = ken.Actor{Type: "tool", ID: c.Validator}
	}
	return c
}

// body is what a verdict's claim says beside its words.
type body struct {
	Validator string `json:"validator"`
	Target    string `json:"target"`
	Passed    bool   `json:"passed"`
}

// claim is the verdict as a claim.
func (c *Check) claim(key string) ken.Claim {
	out := ken.Claim{Key: key, Kind: ken.KindFinding, Text: c.Statement, Evidence: c.Evidence, Status: ken.StatusObserved, Confidence: confidence,
		Importance: 0.5, Scope: c.Scope, Project: c.Project, Session: c.Session, Branch: c.Branch, Actor: c.Actor, Domain: "check",
		Entities: named(append([]string{c.Target}, c.About...)), Source: c.Validator, SourceType: "validator", ExpiresAt: c.ExpiresAt}
	if !c.Passed {
		out.Importance = 0.7
	}
	out.Body, _ = json.Marshal(body{c.Validator, c.Target, c.Passed}) // strings and a bool always can be
	return out
}

// named are the names that can be names, each once.
func named(list []string) []string {
	var out, seen []string
	for _, n := range list {
		if spelled := analysis.Entity(n); spelled != "" && !slices.Contains(seen, spelled) {
			out, seen = append(out, n), append(seen, spelled)
		}
	}
	return out
}

func record(ctx context.Context, s Store, c *Check) (Recorded, error) {
	l, err := latestVerdict(ctx, s, c)
	if err != nil {
		return Recorded{}, err
	}
	if l.claim != nil && l.claim.Status == ken.StatusSuperseded {
		l.claim = nil // by somebody who knew better: what comes now is new
	}
	var was body
	if l.claim != nil && json.Unmarshal(l.claim.Body, &was) == nil && was.Passed == c.Passed {
		return reinforce(ctx, s, c, l.claim)
	}
	if c.Passed && c.Settles && l.claim == nil {
		return Recorded{Outcome: Nothing}, nil
	}
	id, err := s.WriteClaim(ctx, c.claim(l.free))
	if err != nil || l.claim == nil {
		return Recorded{ID: id, Outcome: Written}, err
	}
	reason := "the check passes now"
	if !c.Passed {
		reason = "the check fails now"
	}
	return Recorded{ID: id, Outcome: Turned, Superseded: l.claim.ID}, s.SupersedeFor(ctx, l.claim.ID, id, reason, c.Actor)
}

// reinforce takes in the verdict that stands already.
func reinforce(ctx context.Context, s Store, c *Check, have *ken.Claim) (Recorded, error) {
	now := c.claim(have.Key)
	now.Entities = named(slices.Concat(have.Entities, now.Entities))
	now.Evidence = limitPieces(have.Evidence, now.Evidence)
	out := Recorded{ID: have.ID, Outcome: Reinforced}
	switch {
	case have.Status == ken.StatusDisputed:
		now.Text = have.Text // other words would be a claim that nobody disputes
		out.Outcome = Disputed
	case now.Text != have.Text:
		out.Outcome, now.Evidence = Revised, c.Evidence
	case now.ExpiresAt.Equal(have.ExpiresAt) && len(now.Entities) == len(have.Entities):
		return out, s.Reinforce(ctx, have.ID, now.Evidence, c.Actor)
	}
	if _, err := s.WriteClaim(ctx, now); err != nil || out.Outcome == Disputed {
		return out, err
	}
	return out, s.Reinforce(ctx, have.ID, now.Evidence, c.Actor)
}

// limitPieces are the pieces for which there is room; those that refresh one always fit.
func limitPieces(have, more []ken.Evidence) []ken.Evidence {
	room := maxPieces - len(have)
	var out []ken.Evidence
	for _, e := range more {
		known := slices.ContainsFunc(have, func(o ken.Evidence) bool { return o.Kind == e.Kind && o.Reference() == e.Reference() })
		if !known {
			if room <= 0 {
				continue
			}
			room--
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return have[:1] // as it is
	}
	return out
}

// Evidence is a file of the project in root as evidence: its path from there, with
// slashes, and the hash of its whole content by which Of sees that it has changed. name
// is relative to root, or absolute and within it; symbolic links are followed within the
// project only. Files up to 64 MiB are taken, as larger ones are not compared.
//
// Errors name no field, as each caller has another one: ErrNotFound for a file that is
// not there, ErrInvalid for one that is not of the project, is no regular file, is too
// large or can't be read.
func Evidence(root, name string) (ken.Evidence, error) {
	rel, err := within(root, name)
	if err != nil {
		return ken.Evidence{}, err
	}
	hash, err := hashFile(root, rel)
	if err != nil {
		return ken.Evidence{}, err
	}
	e := ken.FromFile(rel, "", "")
	e.ContentHash = hash
	return e, nil
}

// within is the path of a file from the project's folder. Both may be named by way of
// links.
func within(root, name string) (string, error) {
	if name == "" {
		return "", notEvidence("an empty name", "is not that of a file")
	}
	rel := filepath.FromSlash(strings.ReplaceAll(name, `\`, "/"))
	if filepath.IsAbs(rel) {
		abs := rel
		for _, names := range [][2]string{{root, abs}, {unlinked(root), abs}, {unlinked(root), unlinked(abs)}} {
			if r, err := filepath.Rel(names[0], names[1]); err == nil && filepath.IsLocal(r) {
				rel = r
				break
			}
		}
	}
	if rel = filepath.Clean(rel); !filepath.IsLocal(rel) || rel == "." || strings.Contains(rel, "\x00") {
		return "", notEvidence(name, "is not a file of the project")
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}

// unlinked is a path without links, if there is such a path.
func unlinked(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	return name
}

// hashFile hashes a file below a folder as it is now.
func hashFile(root, rel string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", notEvidence(rel, "can't be read, as the project's folder can't be opened")
	}
	defer dir.Close() // nothing was written
	name := filepath.FromSlash(rel)
	info, err := dir.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &ken.Error{Code: ken.CodeNotFound, Msg: "there is no file " + rel + " in the project", Try: "Check the path, which is relative to the project's folder."}
	case err != nil:
		return "", notEvidence(rel, "leads out of the project, or may not be read")
	case !info.Mode().IsRegular():
		return "", notEvidence(rel, "is no file")
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", notEvidence(rel, "may not be read")
	}
	defer f.Close() // nothing was written
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxCompared+1))
	if err != nil {
		return "", notEvidence(rel, "can't be read whole")
	}
	if n > maxCompared {
		return "", notEvidence(rel, "is larger than 64 MiB")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func notEvidence(name, why string) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: name + " " + why,
		Try: "Name a file of the project that may be read, or say in words what was checked."}
}
