package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
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

// Check is the result of a validator: what was checked, and the verdict. Two checks with
// the same validator, target and scope are the same check.
type Check struct {
	Validator string // name of the validator, such as "go vet"; not empty
	Target    string // what was checked: a path, a package, a command; not empty
	Statement string // the verdict as a sentence: "the tests of pay pass"
	Passed    bool

	// Evidence is what was observed; the tier is derived from it. It must not be empty.
	// A piece without a time gets that of the call.
	Evidence []ken.Evidence

	About     []string  // further names that the claim is about; Target is always one
	ExpiresAt time.Time // when the verdict expires; zero means never

	// Settles means that a passed verdict is written only if the last one failed. It is
	// for checks whose success is not worth a claim.
	Settles bool

	Scope   ken.Scope
	Project string
	Session string
	Branch  string
	Actor   ken.Actor // default: type tool, id Validator
}

// Outcome is what Record did with a check.
type Outcome string

// Outcomes.
const (
	Written    Outcome = "written"    // the first verdict of the check
	Reinforced Outcome = "reinforced" // the same verdict as before; its evidence was added
	Revised    Outcome = "revised"    // the same verdict with another statement
	Turned     Outcome = "turned"     // the other verdict; the previous claim was superseded
	Disputed   Outcome = "disputed"   // the same verdict, whose claim is disputed; it stays disputed
	Nothing    Outcome = "nothing"    // nothing was written, see Check.Settles
)

// Recorded is the result of Record.
type Recorded struct {
	ID         string  `json:"id,omitempty"` // the claim with the verdict; "" for Nothing
	Outcome    Outcome `json:"outcome"`
	Superseded string  `json:"superseded,omitempty"` // the claim with the previous verdict
}

// Store is the part of a store that Record needs. The stores on disk and in memory
// implement it.
type Store interface {
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

// confidence is the confidence of every verdict, since a program computed it. It is the
// same for both verdicts: a claim that replaces a more certain one would need a person's
// review.
const confidence = 0.95

// maxPieces is the maximum number of pieces of evidence of a verdict. Existing pieces
// are still refreshed.
const maxPieces = 100

// Record writes a verdict as a claim of kind finding. now is the time of the check.
//
// The first verdict of a check is a new claim. The same verdict again reinforces that
// claim: new evidence is added, and existing evidence gets the time of this run. The
// other verdict is a new claim that supersedes the previous one. It does not dispute it,
// because the previous verdict was true at its time: the thing has changed, and failed
// tests should not fill the queue of disputes. So at most one verdict of a check is
// valid at a time, and the chain of verdicts shows when it changed. If a person disputed
// a verdict, a validator that repeats it does not change that.
//
// Record may be called by several processes concurrently. Errors: ErrInvalid for an
// incomplete check, and those of the store.
func Record(ctx context.Context, s Store, c Check, now time.Time) (Recorded, error) {
	if err := c.check(); err != nil {
		return Recorded{}, err
	}
	c = c.clean(now.Round(0).UTC())
	const tries = 3 // another process may change the verdict meanwhile
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

// clean returns a copy of the check without secrets in fields that a store does not
// clean.
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

// body is the body of a verdict's claim.
type body struct {
	Validator string `json:"validator"`
	Target    string `json:"target"`
	Passed    bool   `json:"passed"`
}

// claim returns the verdict as a claim.
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

// named returns the strings that are valid names, each once.
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
		l.claim = nil // somebody superseded it, so this verdict is a new claim
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

// reinforce handles a verdict that is equal to the current one.
func reinforce(ctx context.Context, s Store, c *Check, have *ken.Claim) (Recorded, error) {
	now := c.claim(have.Key)
	now.Entities = named(slices.Concat(have.Entities, now.Entities))
	now.Evidence = limitPieces(have.Evidence, now.Evidence)
	out := Recorded{ID: have.ID, Outcome: Reinforced}
	switch {
	case have.Status == ken.StatusDisputed:
		now.Text = have.Text // another text would be a claim that is not disputed
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

// limitPieces returns the pieces that still fit. Pieces that refresh an existing one
// always do.
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
		return have[:1] // unchanged
	}
	return out
}

// Evidence returns a file of the project in root as evidence: its path relative to root,
// with slashes, and the hash of its content, by which Of detects changes. name is
// relative to root, or absolute and within it. Symbolic links are followed within the
// project only. The file may have up to 64 MiB, since larger ones are not compared.
//
// Errors name no field, as it differs between callers: ErrNotFound for a missing file,
// ErrInvalid for one that is outside of the project, no regular file, too large or
// unreadable.
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

// Page returns a web page as evidence. It returns ErrInvalid, with the field, for what is not the
// address of one: http or https, and a host.
func Page(field, address string, fetched time.Time) (ken.Evidence, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return ken.Evidence{}, &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "not the address of a web page", Try: "Write it as in https://example.org/page."}
	}
	return ken.FromURL(address, fetched, ""), nil
}

// within returns the path of a file relative to the project's folder. Both may be given
// as paths with links.
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

// unlinked returns a path without symbolic links, if it can be resolved.
func unlinked(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	return name
}

// hashFile returns the current hash of a file below a folder.
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
