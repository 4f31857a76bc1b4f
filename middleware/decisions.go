package middleware

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/retriever"
)

// decisionStatus returns a function that returns the status of a decision file that is no longer in
// force, and "" for other files. Searches find such files, but turns don't show them. A proposed
// decision is marked in its heading.
func (l *Layer) decisionStatus() func(path string, content []byte) ken.Status {
	if l.code.base == nil {
		return nil
	}
	folders := l.cfg.Decisions.Folders
	if len(folders) == 0 {
		folders = decision.DefaultFolders()
	}
	return func(p string, content []byte) ken.Status {
		if !strings.EqualFold(path.Ext(p), ".md") || !inFolders(folders, p) {
			return ""
		}
		r, _ := decision.Parse(p, content)
		switch {
		case r.Archived, r.Status == decision.Superseded, r.Status == decision.Deprecated:
			return ken.StatusSuperseded
		case r.Status == decision.Rejected:
			return ken.StatusDisputed
		}
		return ""
	}
}

func inFolders(folders []string, p string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(p, path.Clean(f)+"/") })
}

// Bounds of the decisions of a turn.
const (
	maxGoverning          = 3   // decisions
	maxDecisionChars      = 900 // characters of one decision
	maxNamedDecisionChars = 500 // characters of a decision that only mentions the symbol
)

// governingDecision is a decision about a symbol that a turn names.
type governingDecision struct {
	path  string
	exact bool
	claim ken.Claim
}

// governingDecisions returns the decisions in force about the symbols of cards. Those that list a
// symbol come before those that mention it; otherwise the order of the cards counts.
func (l *Layer) governingDecisions(cards []card) (out []governingDecision) {
	for i := range cards {
		for _, r := range cards[i].governed {
			g := governingDecision{path: r.From.Path, exact: r.How == codegraph.Exact}
			at := slices.IndexFunc(out, func(o governingDecision) bool { return o.path == g.path })
			if at >= 0 {
				out[at].exact = out[at].exact || g.exact
			} else if g.path != "" {
				out = append(out, g)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b governingDecision) int { return compareBool(b.exact, a.exact) })
	held := out[:0]
	for _, g := range out {
		r, err := l.code.base.Decisions().Find(g.path)
		if err != nil || r.Path != g.path || r.Archived {
			continue
		}
		if g.claim, err = decision.Claim(r); err != nil || !slices.Contains(ken.RecallStatuses(), g.claim.Status) || g.claim.Expired(l.now()) {
			continue
		}
		if held = append(held, g); len(held) == maxGoverning {
			break
		}
	}
	return held
}

// candidate returns the decision as a candidate for the block. Ranks begin at 1. The text is
// shortened, unless the search found the decision's file too.
func (g *governingDecision) candidate(rank int, found bool, tier ken.Tier) budgeter.Candidate {
	c := &g.claim
	text, most, score := c.Text, maxDecisionChars, exactStepScore
	if !g.exact {
		most, score = maxNamedDecisionChars, guessStepScore
	}
	if !found {
		text = cutAtSentence(text, most)
	}
	return budgeter.Candidate{Item: ken.Item{ID: c.ID, Key: c.Key, Kind: c.Kind, Tier: tier, Trust: c.Facts().Trust, Source: c.Source, Heading: c.Heading, Text: text,
		CreatedAt: c.CreatedAt, Entities: c.Entities, Aspect: c.Aspect, Legs: map[string]ken.LegScore{legGraph: {Rank: rank, Score: score}},
		Signals: map[string]float64{legGraph: score, retriever.SignalDistance: 1}}}
}

// cutAtSentence cuts a text to most characters, at the end of a sentence or a word.
func cutAtSentence(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	s = string([]rune(s)[:most])
	for _, end := range []string{"\n", ". ", " "} {
		if at := strings.LastIndex(s, end); at > len(s)/2 {
			s = s[:at+len(strings.TrimRight(end, " \n"))]
			break
		}
	}
	return strings.TrimSpace(s) + " …"
}

// isFileDecision reports whether an item comes from a decision file of the project. No store holds
// it, so it can't be forgotten.
func isFileDecision(it *ken.Item) bool {
	return it.Kind == ken.KindDecision && strings.HasPrefix(it.Key, decision.KeyPrefix)
}

// fileDecision returns the decision with this claim id, as its file now states it.
func (l *Layer) fileDecision(id string) (ken.Claim, bool) {
	if l.code.base == nil {
		return ken.Claim{}, false
	}
	for _, r := range l.code.base.Decisions().List() {
		if c, err := decision.Claim(r); err == nil && c.ID == id {
			return c, true
		}
	}
	return ken.Claim{}, false
}

// objectivesID is the id of the item for the objectives.
const objectivesID = "objectives"

const objectivesHeading = "What the project aims at"

// objectivesItem returns the project's objectives as a memory item of the turn. It returns false if
// there are none or the turn asks for nothing. A conversation that holds them gets them again only
// after a change, or after it was compacted.
func (l *Layer) objectivesItem(ctx context.Context, st *State) (c budgeter.Candidate, ok bool) {
	o := l.settings(st)
	if !st.Signals.Asks && !st.Signals.Resumes {
		return c, false
	}
	if l.code.objectives == nil || !o.Middleware.Objectives || o.Objectives.Chars == 0 || !l.ownsProject(st.Turn.Owner) || !ken.TrustAgent.AtLeast(o.Retrieval.MinTrust) {
		return c, false
	}
	var text string
	var at time.Time
	err := protect(ctx, st, func(ctx context.Context, _ *State) error {
		active, _, err := l.code.objectives.List(ctx, objective.Active)
		text = objective.Summary(active, o.Objectives.Chars)
		for i := range active {
			if active[i].Updated.After(at) {
				at = active[i].Updated
			}
		}
		return err
	})
	if err != nil {
		st.degrade("objectives", err)
		return c, false
	}
	// Both people and agents may have written the files, so the trust is the lower one.
	return budgeter.Candidate{Memory: true, Item: ken.Item{ID: objectivesID, Kind: budgeter.KindObjectives, Tier: ken.Inferred, Trust: ken.TrustAgent,
		Source: l.cfg.Objectives.Folder, Heading: objectivesHeading, Text: text, CreatedAt: at}}, text != ""
}

// ownsProject reports whether the project's files belong to an owner. They belong to the configured
// owner only, whose store indexes them.
func (l *Layer) ownsProject(owner string) bool { return owner == l.cfg.Knowledge.Owner }
