package tools

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/itemid"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// claimView is the form of a claim in answers.
type claimView struct {
	ID         string    `json:"id"`
	Owner      string    `json:"owner,omitempty" jsonschema:"another owner who shares it, to be read and not changed; empty for your own"`
	Kind       string    `json:"kind"`
	Status     string    `json:"status"`
	Tier       string    `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust      string    `json:"trust" jsonschema:"who speaks: operator, agent or external; external is somebody else's text"`
	Heading    string    `json:"heading,omitempty"`
	Text       string    `json:"text"`
	Cut        bool      `json:"cut,omitempty" jsonschema:"the text is longer than what is shown"`
	Constraint bool      `json:"constraint,omitempty" jsonschema:"a rule that must be kept"`
	Candidate  bool      `json:"rule_candidate,omitempty" jsonschema:"somebody said it as a rule; no person has approved it"`
	Source     string    `json:"source,omitempty"`
	Session    string    `json:"session_id,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	Score      float64   `json:"score,omitempty"`
}

// external is the name of the lowest trust.
var external = ken.TrustExternal.String()

// Bounds in code points of the parts of a claim other than its text.
const (
	maxSource  = 120
	maxHeading = 160
)

// show converts a claim for an answer, and records that it was shown.
func (c *Call) show(k ken.Claim) claimView {
	v := c.r.layer.Operator().View(k)
	return c.showAs(k, v.Tier, v.Trust)
}

// showAs is show for a claim whose tier and trust are known.
func (c *Call) showAs(k ken.Claim, tier ken.Tier, trust ken.Trust) claimView {
	text := strings.TrimSpace(neutralize(k.Text))
	out := claimView{ID: k.ID, Kind: string(k.Kind), Status: string(k.Status), Tier: tier.String(), Trust: max(trust, ken.TrustExternal).String(),
		Heading: oneLine(k.Heading, maxHeading), Text: analysis.Clip(text, maxItem), Constraint: k.Constraint, Candidate: k.RuleCandidate,
		Source: oneLine(cmp.Or(k.Source, k.SourceType), maxSource), Session: k.Session, CreatedAt: k.CreatedAt.UTC().Truncate(time.Second)}
	if k.Owner != "" && k.Owner != c.Store.Owner() {
		out.Owner = k.Owner
	}
	out.Cut = out.Text != text
	c.shown = append(c.shown, out)
	return out
}

func oneLine(s string, most int) string {
	return analysis.Clip(guardrail.Neutralize(strings.Join(strings.Fields(guardrail.Sanitize(s)), " ")), most)
}

// find returns the claim with this id, or with an id of which it is a unique part. It does not find
// claims of other owners or outside the caller's scopes. It refuses a piece of a file, which has no
// life cycle.
func (c *Call) find(ctx context.Context, id string) (ken.Claim, error) {
	id = itemid.Bare(id)
	k, err := c.Store.Get(ctx, id)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return k, notFound(id)
	case errors.Is(err, ken.ErrInvalid):
		return k, invalid("id", clip(id)+" names more than one claim", "Give the whole id.")
	case err != nil:
		return k, err
	case !c.sees(&k):
		return ken.Claim{}, notFound(id)
	case k.Kind == ken.KindDocument:
		return k, refused("id", clip(id)+" is a piece of the repository, not a claim",
			"Read the file itself; what is in it changes with the file.")
	}
	return k, nil
}

// readable is find for tools that only read. It also finds claims that other owners share.
func (c *Call) readable(ctx context.Context, id string) (ken.Claim, error) {
	k, err := c.find(ctx, id)
	if !errors.Is(err, ken.ErrNotFound) {
		return k, err
	}
	shared, failed := c.r.layer.Operator().Shared(ctx, c.Owner, itemid.Bare(id))
	switch {
	case failed != nil && !errors.Is(failed, ken.ErrNotFound):
		return ken.Claim{}, failed
	case failed != nil || !c.sees(&shared):
		return ken.Claim{}, err
	}
	return shared, nil
}

// note is the first field of every JSON answer. It says the same as the frame of a text.
const note = guardrail.Reference + " What is of external trust was written by somebody else."

// noteJSON is the beginning of every JSON answer.
var noteJSON = []byte(`{"note":` + strconv.Quote(note) + `,`)

// named converts names that the schema has validated, without repeats.
func named[T ~string](names []string) (out []T) {
	for _, n := range names {
		if !slices.Contains(out, T(n)) {
			out = append(out, T(n))
		}
	}
	return out
}

func kinds(names []string) []ken.Kind {
	var out []ken.Kind
	for _, n := range names {
		if n = strings.ToLower(strings.TrimSpace(n)); n != "" && !slices.Contains(out, ken.Kind(n)) {
			out = append(out, ken.Kind(n))
		}
	}
	return out
}

// allClaims makes a scan return every claim that its filter accepts.
func allClaims(store.Glance) bool { return true }

// fileText makes text of a file safe to show and keeps its line breaks. It has at most most code
// points. cut reports whether it was shortened.
func fileText(s string, most int) (shown string, cut bool) {
	s = strings.TrimSpace(guardrail.Neutralize(clean.Text(s)))
	return analysis.Clip(s, most), utf8.RuneCountInString(s) > most
}

// fileLine is fileText with all white space reduced to single spaces.
func fileLine(s string, most int) string {
	s, _ = fileText(strings.Join(strings.Fields(s), " "), most)
	return s
}

func fileLines(list []string, most int) (out []string) {
	for _, s := range list {
		if s = fileLine(s, most); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// showFile records that an answer shows text of a file, so that this session does not learn it.
func (c *Call) showFile(id string, kind ken.Kind, text string) {
	id += "/" + strconv.Itoa(len(c.shown)) // one text per id is remembered, so make the ids differ
	c.shown = append(c.shown, claimView{ID: id, Kind: string(kind), Text: text})
}
