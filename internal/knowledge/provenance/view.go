package provenance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// View lists the claims about a thing and their evidence.
type View struct {
	Target string   `json:"target"`
	Names  []string `json:"names"` // that it was looked up by, the target as it was given first

	Total  int     `json:"total"`  // claims that bear on it, without those that are left out
	Offset int     `json:"offset"` // of the first one in Claims
	Claims []Claim `json:"claims"` // never nil

	// LeftOut counts those that were not asked for.
	LeftOut LeftOut `json:"left_out"`
}

// LeftOut counts claims that bear on the thing and are not shown. One that is both
// counts as superseded.
type LeftOut struct {
	Expired    int `json:"expired"`
	Superseded int `json:"superseded"`
}

// Claim is one claim and what it rests on.
type Claim struct {
	ID      string     `json:"id"`
	Kind    ken.Kind   `json:"kind"`
	Heading string     `json:"heading,omitempty"`
	Text    string     `json:"text"`
	Status  ken.Status `json:"status"`
	Tier    ken.Tier   `json:"tier"` // by now, of what still stands
	Why     string     `json:"why"`  // it has that tier, in words
	Trust   ken.Trust  `json:"trust"`
	Via     []Via      `json:"via"` // how it bears on the thing; never empty

	Source     string    `json:"source,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"` // zero never
	Expired    bool      `json:"expired,omitempty"`
	ArchivedAt time.Time `json:"archived_at,omitzero"`

	Reinforcements int    `json:"reinforcements,omitempty"`
	Supersedes     string `json:"supersedes,omitempty"`
	SupersededBy   string `json:"superseded_by,omitempty"`

	Evidence []Piece `json:"evidence"`
}

// Via is how a claim bears on a thing.
type Via string

// The ways.
const (
	ViaID       Via = "id"       // the thing is the claim
	ViaKey      Via = "key"      // the claim was written under the name
	ViaName     Via = "name"     // the claim is about it
	ViaEvidence Via = "evidence" // a piece of its evidence points at it
)

// Piece is a piece of evidence and how it stands.
type Piece struct {
	Kind      ken.EvidenceKind `json:"kind"`
	Reference string           `json:"reference"` // what it points at, in words
	Detail    string           `json:"detail,omitempty"`
	Hard      bool             `json:"hard,omitempty"` // mechanical proof
	State     State            `json:"state"`
	Hash      string           `json:"hash,omitempty"` // when it was collected
	At        time.Time        `json:"at,omitzero"`    // when it was collected; zero is unknown
	ExitCode  *int             `json:"exit_code,omitempty"`
	Matches   bool             `json:"matches,omitempty"` // it points at the thing
}

// State is whether a piece of evidence still stands.
type State string

// States. Only a file whose content was hashed can cease to stand.
const (
	Stands  State = "stands"  // nothing speaks against it; of a hashed file: the content is the same
	Changed State = "changed" // the file holds something else now
	Gone    State = "gone"    // the file is no more
	Unread  State = "unread"  // the file can't be compared: it is a link, too large, or not readable
)

// Query says what is asked.
type Query struct {
	// Target is a path, a symbol or another name of a thing, the name of a test, a
	// command, an artifact, an address, a commit, or a claim's id or key.
	Target string
	Names  []string // further names of the same thing

	Expired    bool // expired claims, too
	Superseded bool // superseded claims, too

	Offset int // claims to pass over; below 0 is 0
	Limit  int // most claims; 0 means DefaultLimit, and MaxLimit is the most
}

// Limits of a page.
const (
	DefaultLimit = 20
	MaxLimit     = 1000
)

// Options say how it is now.
type Options struct {
	Now       func() time.Time // default time.Now
	DecayDays int              // as of ken.Support.At
	Root      string           // the project's folder, which files are compared in; "" takes every file for what it was
}

// Reader is what is needed of a store to look. The stores on disk and in memory are one.
type Reader interface {
	Get(ctx context.Context, id string) (ken.Claim, error)
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error)
	Row(ref store.Ref) (store.Row, bool)
	Claim(ctx context.Context, ref store.Ref) (ken.Claim, error)
}

// tier is what a claim's evidence amounts to now, and why. It is ken.Claim.Support with
// words.
func tier(c *ken.Claim, f *files, now time.Time, decayDays int) (ken.Tier, string) {
	s := c.Support(f.stands)
	at := s.At(now, decayDays)
	why := tierReason(c, s.Tier, f)
	if at != s.Tier {
		why += fmt.Sprintf("; but none of it is newer than %s, and after %s days that counts as %s", s.NewestAt.Format(time.DateOnly), strconv.Itoa(decayDays), at)
	}
	return at, why
}

// tierReason says why evidence is of a tier, before decay.
func tierReason(c *ken.Claim, is ken.Tier, f *files) string {
	var hard, backed, words, fallen, people []string
	var standing []ken.Evidence
	for i := range c.Evidence {
		e := &c.Evidence[i]
		label := string(e.Kind) + " " + reference(e)
		switch {
		case !f.stands(*e):
			fallen = append(fallen, reference(e)+" "+map[State]string{Changed: "has changed", Gone: "is gone"}[f.state(*e)])
		case e.Hard():
			hard, standing = append(hard, label), append(standing, *e)
		case e.Backed():
			backed = append(backed, label)
		default:
			words = append(words, string(e.Kind))
		}
		if e.Kind == ken.EvidenceHumanAssertion {
			people = append(people, reference(e))
		}
	}
	hard, backed, words = once(hard), once(backed), once(words)
	switch {
	case is == ken.Verified && ken.HardSources(standing) >= 2:
		return strconv.Itoa(ken.HardSources(standing)) + " independent hard pieces: " + listFirst(hard)
	case is == ken.Verified:
		return "a person's verification: " + listFirst(once(people))
	case len(hard) > 1:
		return "one run: " + listFirst(hard)
	case len(hard) > 0:
		return "one hard piece: " + listFirst(hard)
	case len(backed) > 0:
		return "backed by " + listFirst(backed)
	case len(words) > 0:
		return "words alone: " + listFirst(words)
	case len(fallen) > 0:
		return "nothing that still stands: " + listFirst(once(fallen))
	}
	return "no evidence"
}

func once(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// listFirst names the first few.
func listFirst(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
	}
	return strings.Join(list, ", ")
}

// reference is what a piece points at, in words.
func reference(e *ken.Evidence) string {
	for _, ref := range []string{e.Path, e.ID, e.URL, e.CommitSHA, e.ArtifactID, e.ToolCallID, e.MessageID, e.SessionID} {
		if ref == "" {
			continue
		}
		if ref == e.Path && e.Line > 0 {
			ref += ":" + strconv.Itoa(e.Line)
		}
		return ref
	}
	return "that names nothing"
}
