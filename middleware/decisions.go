package middleware

import (
	"cmp"
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

// stillHolds says which files of decisions hold no more, so that what was replaced or
// given up is found by whoever looks for it and comes into no turn by itself. Those that
// are only proposed say so in their headings.
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
	for _, f := range folders {
		if strings.HasPrefix(p, path.Clean(f)+"/") {
			return true
		}
	}
	return false
}

const (
	maxGoverning          = 3   // decisions of a turn
	maxDecisionChars      = 900 // characters of one
	maxNamedDecisionChars = 500 // of one that only names what it is about
)

// governingDecision is a decision that is about what a turn names.
type governingDecision struct {
	path  string
	exact bool
	claim ken.Claim
}

// governs lists the decisions in force about the symbols of cards: those that list them
// before those that name them, then in the order of the cards.
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
	slices.SortStableFunc(out, func(a, b governingDecision) int { return cmp.Compare(exactFirst(a.exact), exactFirst(b.exact)) })
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

func exactFirst(sure bool) int {
	if sure {
		return 0
	}
	return 1
}

// candidate is a decision for the block, at a rank from 1. It is shortened, unless the
// words of the turn found it as well.
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

// shorter cuts a text at the end of a sentence, or of a word.
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

// isFileDecision reports an item that a file of the project says, and that no store has: it
// can't be forgotten.
func isFileDecision(it *ken.Item) bool {
	return it.Kind == ken.KindDecision && strings.HasPrefix(it.Key, decision.KeyPrefix)
}

// fileDecision is the decision that a claim's id stands for, as its file has it now.
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

// objectivesID is the id of the item that says what is aimed at.
const objectivesID = "objectives"

const objectivesHeading = "What the project aims at"

// objectivesItem returns what the project aims at, as an item of the turn's memory; false when
// existed is nothing to say, or the turn asks for nothing. A conversation that holds it already is not told again until
// something has changed, and one that was cut is.
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
	// Agents may write the files as well as people.
	return budgeter.Candidate{Memory: true, Item: ken.Item{ID: objectivesID, Kind: budgeter.KindObjectives, Tier: ken.Inferred, Trust: ken.TrustAgent,
		Source: l.cfg.Objectives.Folder, Heading: objectivesHeading, Text: text, CreatedAt: at}}, text != ""
}

// ownsProject reports whether the project's files are an owner's: those of the one that is
// configured, whose store has them, and nobody else's.
func (l *Layer) ownsProject(owner string) bool { return owner == l.cfg.Knowledge.Owner }
