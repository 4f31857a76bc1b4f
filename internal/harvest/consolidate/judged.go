package consolidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/trained"
)

// Judged holds what a model said about known claims and new statements. The trained model of this
// program judges those that the model did not see.
type Judged struct {
	known, fresh map[string]bool     // the statements that the model saw
	replaced     map[string][]string // by the new statement: IDs of known claims that are no longer so
}

// NewJudged returns the judgements of a model. replaced has the indices of the known claims that
// each fresh statement replaces.
func NewJudged(known []ken.Claim, fresh []draft.Dated, replaced [][]int) *Judged {
	j := &Judged{map[string]bool{}, map[string]bool{}, map[string][]string{}}
	for i := range known {
		j.known[known[i].ID] = true
	}
	for i, f := range fresh {
		j.fresh[f.Text] = true
		for _, k := range replaced[i] {
			j.replaced[f.Text] = append(j.replaced[f.Text], known[k].ID)
		}
	}
	return j
}

// of returns what the model said about two claims; ok is false if it did not see them.
func (j *Judged) of(known, fresh *ken.Claim) (replaced, ok bool) {
	if j == nil || known.Session == "" || hasSessionEvidence(known, fresh) {
		return false, false
	}
	f := analysis.WithoutPastNotes(fresh.Text)
	return slices.Contains(j.replaced[f], known.ID), j.known[known.ID] && j.fresh[f]
}

// add appends the claims that the model said are replaced by c, unless known has them.
func (j *Judged) add(ctx context.Context, st ken.Store, c *ken.Claim, known []ken.Claim) ([]ken.Claim, error) {
	if j == nil {
		return known, nil
	}
	byID, ok := st.(interface {
		Get(ctx context.Context, id string) (ken.Claim, error)
	})
	for _, id := range j.replaced[analysis.WithoutPastNotes(c.Text)] {
		if !ok || slices.ContainsFunc(known, func(k ken.Claim) bool { return k.ID == id }) {
			continue
		}
		k, err := byID.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a claim that is replaced: %w", err)
		}
		known = append(known, k)
	}
	return known, nil
}

// Replaceable returns the first of the known claims that a new one may replace, at most most: facts of
// other, earlier sessions that do not say the same.
func Replaceable(c ken.Claim, known []ken.Claim, most int) (out []ken.Claim) {
	fresh := statementOf(&c)
	for i := range known {
		k := &known[i]
		if isOwn(k, &c) || k.Status == ken.StatusSuperseded || k.Scope != c.Scope || comparedKind(k.Kind) != ken.KindFact || comparedKind(c.Kind) != ken.KindFact ||
			k.Session == "" || hasSessionEvidence(k, &c) {
			continue
		}
		at := statementOf(k)
		if at.At.IsZero() || !fresh.At.After(at.At) {
			continue
		}
		a, b := statement(at, fresh), statement(fresh, at)
		relation := compare(&a, &b, at, fresh).Relation
		if relation == Same || relation == Restates || relation == Refines {
			continue
		}
		if out = append(out, *k); len(out) == most {
			break
		}
	}
	return out
}

// StatementOf returns what a claim says, without notes on changes, and when it was last said.
func StatementOf(c *ken.Claim) draft.Dated {
	return draft.Dated{Text: analysis.WithoutPastNotes(c.Text), At: said(c)}
}

// judgeChange asks the trained model whether the new statement replaces the known one, or one
// clause of it. Only a harvested claim is judged; what somebody wrote is not. For a claim of the
// same session, the score must be at least likelyReplaces, and the new statement must say that something changed.
func (n *candidate) judgeChange(fresh string, sameSession bool) (score float64) {
	text := analysis.WithoutPastNotes(n.claim.Text)
	ending := ends(text, fresh)
	if !sameSpeaker(text, fresh) || planned(text, fresh) || !ending && (!concerns(text, fresh) || otherAttribute(text, fresh) || otherTask(text, fresh)) {
		return 0
	}
	least := mayReplace
	if sameSession && !ending {
		if !valuesOf(fresh).tellsChange(0, len(fresh), false) {
			return 0
		}
		least = likelyReplaces
	}
	was, is, score := likeliest(spoken(text), spoken(fresh), least)
	if ending {
		score = max(score, mayReplace)
	}
	if score >= least {
		n.amend(was, is, score)
	}
	return score
}

// likeliest returns the clause of the known statement that the new one replaces most likely, the clause of
// the new one that replaces it, and the probability. Long statements on one subject share many words, but one
// replaces another only where two of their clauses do. So their probability is the lower one of the statements'
// and the clauses'. If the statements' is below least, the clauses are not compared. The name of one speaker
// before both is no part of what they say.
func likeliest(known, fresh string, least float64) (was, is string, score float64) {
	if who := speakerName.FindString(known); who != "" && strings.HasPrefix(fresh, who) {
		known, fresh = known[len(who):], fresh[len(who):]
	}
	score = trained.Replaces(known, fresh)
	mine, theirs := valuesOf(known).parts(), valuesOf(fresh).parts()
	if score < least || len(mine) == 1 && len(theirs) == 1 {
		return known, fresh, score
	}
	if k, ok := denied(known, mine, fresh); ok {
		mine = []span{k}
	}
	most := -1.0
	for _, k := range mine {
		for _, f := range theirs {
			if s := trained.Replaces(known[k.from:k.to], fresh[f.from:f.to]); s > most {
				was, is, most = known[k.from:k.to], fresh[f.from:f.to], s
			}
		}
	}
	if len(strings.Fields(known))+len(strings.Fields(fresh)) > oneFact {
		score = min(score, most)
	}
	return was, is, score
}

// denied returns the one clause of the known statement that has all of what the new one says is no longer so: of
// "the parcel goes to Oslo, with order 77", "it goes to Bergen, not to Oslo" denies the first.
func denied(known string, clauses []span, fresh string) (clause span, ok bool) {
	for _, m := range deniedPart.FindAllStringSubmatch(fresh, -1) {
		gone := analysis.Terms(m[1])
		if len(gone) == 0 {
			continue
		}
		found := 0
		for _, c := range clauses {
			has := analysis.Terms(known[c.from:c.to])
			if !slices.ContainsFunc(gone, func(w string) bool { return !slices.Contains(has, w) }) {
				clause, found = c, found+1
			}
		}
		if found == 1 {
			return clause, true
		}
	}
	return span{}, false
}

// deniedPart matches what a statement denies at the end of a clause. The group is what it denies.
var deniedPart = lazyregexp.New(`(?i)(?:, (?:and )?(?:not|no longer|nicht(?: mehr)?|pas|plus|no|não)| (?:instead of|rather than|anstatt|statt|au lieu de|en vez de|em vez de)) ([^,.;:!?]+)`)

// parts returns the clauses of a statement. What says too little to be compared, such as the year of a date or
// a part of a list, belongs to the clause before it.
func (s *statementValues) parts() (out []span) {
	for i, c := range s.clauses {
		if len(out) > 0 && len(s.terms[i]) < 2 {
			out[len(out)-1].to = c.to
		} else {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = []span{{0, len(s.text)}}
	}
	return out
}

// amend sets the change by which a clause of a new statement replaces one of the known statement.
// The known claim gets a note and is kept, so that nothing is lost if the judgement is wrong.
func (n *candidate) amend(clause, fresh string, score float64) {
	text := analysis.WithoutPastNotes(n.claim.Text)
	clause = strings.TrimRight(clause, ".!。 ")
	c := change{is: newValue(cmp.Or(differingEnd(fresh, clause), fresh)), judged: true, perhaps: score < surelyReplaces}
	at := strings.Index(n.claim.Text, clause)
	if at < 0 || text != n.claim.Text && !strings.Contains(n.claim.Text, ", now "+c.is+")") {
		return // another note is in the way
	}
	c.was = span{at, at + len(clause)}
	c.clause = c.was
	n.score, n.change, n.Relation, n.Why = score, c, Amends, fmt.Sprintf("replaces it by all that both say (%.2f)", score)
}

// concerns reports whether the statement after shares a word with the statement before and says something
// else. A date in parentheses is left out: the harvest adds it to "tomorrow".
func concerns(before, after string) bool {
	before, after = spoken(before), spoken(after)
	plain := func(s string) *statementValues {
		return valuesOf(addedDate.ReplaceAllString(speakerName.ReplaceAllString(s, ""), ""))
	}
	old, fresh := plain(before), plain(after)
	mine, theirs := old.all(), fresh.all()
	if alike, _ := shared(mine, theirs); alike == 0 || len(mine) == 0 || len(theirs) == 0 {
		return false
	}
	if told := read(fresh.text); told.weak+told.strong != "" || fresh.tellsChange(0, len(fresh.text), true) {
		return true
	}
	for i := range fresh.values {
		if !slices.ContainsFunc(old.values, func(o mention) bool { return o.same(&fresh.values[i]) }) {
			return true
		}
	}
	n := 0 // the terms of both, in the same order
	for _, t := range mine {
		if n < len(theirs) && t.stem == theirs[n].stem {
			n++
		}
	}
	return n < len(theirs)
}

// otherAttribute reports whether both statements give attributes of one thing, and not the same: the mailer's
// retry limit is no timeout.
func otherAttribute(before, after string) bool {
	old, fresh := attribute.FindStringSubmatch(before), attribute.FindStringSubmatch(after)
	return old != nil && fresh != nil && strings.EqualFold(old[1], fresh[1]) && !strings.EqualFold(old[2], fresh[2])
}

// attribute matches a statement on an attribute of a thing. Its groups are the thing and the last word of the attribute.
var attribute = lazyregexp.New(`^(?:User: )?((?:\pL+ ){0,2}\pL+)['’]s (?:\pL+ ){0,2}(\pL+) (?:is|are|was|were|became) `)

// otherTask reports whether the known statement is a task, and both have names in code, and not the same.
func otherTask(before, after string) bool {
	if !strings.HasPrefix(spoken(before), draft.OpenPrefix) {
		return false
	}
	old, fresh := codeName.FindAllString(before, -1), codeName.FindAllString(after, -1)
	return len(old) > 0 && len(fresh) > 0 && !slices.ContainsFunc(fresh, func(s string) bool { return slices.Contains(old, s) })
}

// codeName matches a name in code: its parts are joined without a space.
var codeName = lazyregexp.New(`\w+(?:[._/]\w+)+`)

// addedDate matches a date that the harvest added to a relative one.
var addedDate = lazyregexp.New(` \((?:the week of )?(?:\d{1,2} )?(?:\pL+ )?\d{4}\)`)

// spoken returns a statement without the "User: " prefix.
func spoken(text string) string { return strings.TrimPrefix(text, "User: ") }

// Scores of trained.Replaces. docs/decisions/0047 has how many judgements above them are right.
const (
	mayReplace     = 0.1
	likelyReplaces = 0.5
	surelyReplaces = 0.72
)

// clearly is how many times as likely as the next one a change must be, unless it is at least surelyReplaces.
// Statements on one subject resemble each other, and a new one then seems to replace several.
const clearly = 3

// dropUnlikely drops judged changes that are less likely than surelyReplaces, except the likeliest one where it
// is clearly likelier than every other.
func (p *planner) dropUnlikely() {
	most, next := 0.0, 0.0
	for _, x := range p.likely {
		most, next = max(most, x), max(next, min(most, x))
	}
	p.near = slices.DeleteFunc(p.near, func(n candidate) bool {
		return n.change.judged && n.score > 0 && n.score < surelyReplaces && (n.score < most || most < clearly*next)
	})
}
