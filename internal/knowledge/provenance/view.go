package provenance

import (
	"cmp"
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
	Names  []string `json:"names"` // names that were looked up, the given target first

	Total  int     `json:"total"`  // number of claims, without those in LeftOut
	Offset int     `json:"offset"` // index of the first one in Claims
	Claims []Claim `json:"claims"` // never nil

	// LeftOut counts the claims that the query excludes.
	LeftOut LeftOut `json:"left_out"`
}

// LeftOut counts claims about the thing that are not shown. An expired and superseded
// claim counts as superseded.
type LeftOut struct {
	Expired    int `json:"expired"`
	Superseded int `json:"superseded"`
}

// Claim is one claim with its evidence.
type Claim struct {
	ID      string     `json:"id"`
	Kind    ken.Kind   `json:"kind"`
	Heading string     `json:"heading,omitempty"`
	Text    string     `json:"text"`
	Status  ken.Status `json:"status"`
	Tier    ken.Tier   `json:"tier"` // current tier, by the evidence that is still valid
	Why     string     `json:"why"`  // why it has that tier
	Trust   ken.Trust  `json:"trust"`
	Via     []Via      `json:"via"` // how it refers to the thing; never empty

	Source     string    `json:"source,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"` // zero means never
	Expired    bool      `json:"expired,omitempty"`
	ArchivedAt time.Time `json:"archived_at,omitzero"`

	Reinforcements int    `json:"reinforcements,omitempty"`
	Supersedes     string `json:"supersedes,omitempty"`
	SupersededBy   string `json:"superseded_by,omitempty"`

	Evidence []Piece `json:"evidence"`
}

// Via is how a claim refers to a thing.
type Via string

// Values of Via.
const (
	ViaID       Via = "id"       // the thing is the claim
	ViaKey      Via = "key"      // the claim has the name as its key
	ViaName     Via = "name"     // the claim is about it
	ViaEvidence Via = "evidence" // a piece of its evidence refers to the thing
)

// Piece is a piece of evidence with its state.
type Piece struct {
	Kind      ken.EvidenceKind `json:"kind"`
	Reference string           `json:"reference"` // what it refers to, in words
	Detail    string           `json:"detail,omitempty"`
	Hard      bool             `json:"hard,omitempty"` // it is mechanical proof
	State     State            `json:"state"`
	Hash      string           `json:"hash,omitempty"` // at the time of collection
	At        time.Time        `json:"at,omitzero"`    // time of collection; zero if unknown
	ExitCode  *int             `json:"exit_code,omitempty"`
	Matches   bool             `json:"matches,omitempty"` // it refers to the thing
}

// State says whether a piece of evidence is still valid.
type State string

// States. Only a hashed file can become invalid.
const (
	Stands  State = "stands"  // nothing contradicts it; for a hashed file, the content is unchanged
	Changed State = "changed" // the content of the file has changed
	Gone    State = "gone"    // the file was deleted
	Unread  State = "unread"  // the file can't be compared: it is a link, too large, or not readable
)

// Query selects the claims.
type Query struct {
	// Target is a path, a symbol or another name of a thing, the name of a test, a
	// command, an artifact, an address, a commit, or a claim's id or key.
	Target string
	Names  []string // further names of the same thing

	Expired    bool // include expired claims
	Superseded bool // include superseded claims

	Offset int // number of claims to skip; below 0 means 0
	Limit  int // maximum number of claims; 0 means DefaultLimit, and MaxLimit is the maximum
}

// Limits of a page.
const (
	DefaultLimit = 20
	MaxLimit     = 1000
)

// Options holds what the current state is computed with.
type Options struct {
	Now       func() time.Time // default time.Now
	DecayDays int              // as for ken.Support.At
	Root      string           // the project's folder, in which files are compared; "" treats every file as unchanged
}

// Reader is the part of a store that Of needs. The stores on disk and in memory
// implement it.
type Reader interface {
	Get(ctx context.Context, id string) (ken.Claim, error)
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error)
	Row(ref store.Ref) (store.Row, bool)
	Claim(ctx context.Context, ref store.Ref) (ken.Claim, error)
}

// tier returns the current tier of a claim and the reason for it. It is
// ken.Claim.Support with a description.
func tier(c *ken.Claim, f *files, now time.Time, decayDays int) (ken.Tier, string) {
	s := c.Support(f.stands)
	at := s.At(now, decayDays)
	why := tierReason(c, s.Tier, f)
	if at != s.Tier {
		why += fmt.Sprintf("; but none of it is newer than %s, and after %s days that counts as %s", s.NewestAt.Format(time.DateOnly), strconv.Itoa(decayDays), at)
	}
	return at, why
}

// tierReason describes why evidence has a tier, before decay.
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

// listFirst lists the first few items.
func listFirst(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
	}
	return strings.Join(list, ", ")
}

// reference describes what a piece of evidence refers to.
func reference(e *ken.Evidence) string {
	if e.Path != "" && e.Line > 0 {
		return e.Path + ":" + strconv.Itoa(e.Line)
	}
	return cmp.Or(e.Path, e.ID, e.URL, e.CommitSHA, e.ArtifactID, e.ToolCallID, e.MessageID, e.SessionID, "that names nothing")
}
