package classify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/jobs"
)

// batch is the payload of a job: some facts, of one entity and scope when the job was
// added. It has none of their words, which may be forgotten before it is.
type batch struct {
	Facts []item `json:"facts"`
}

// item is a fact, and whether it says what it said then.
type item struct {
	ID   string `json:"id"`
	Text uint16 `json:"text"` // digest
}

// digest tells whether a text was changed, nearly always, and is too short to confirm
// a guess of what it was.
func digest(text string) uint16 {
	sum := sha256.Sum256([]byte(text))
	return uint16(sum[0])<<8 | uint16(sum[1])
}

// job makes the job of a batch. The same facts, saying the same, are the same job in
// whichever order.
func (b batch) job(kind string) (jobs.New, error) {
	slices.SortFunc(b.Facts, func(x, y item) int { return cmp.Compare(x.ID, y.ID) })
	h := sha256.New()
	for _, f := range b.Facts {
		fmt.Fprintf(h, "%s %d\n", f.ID, f.Text)
	}
	payload, err := json.Marshal(b)
	return jobs.New{Kind: kind, Key: hex.EncodeToString(h.Sum(nil)[:16]), Payload: payload}, err
}

// group is facts of one entity in one scope, which a model may see together.
type group struct {
	scope  ken.Scope
	entity string
	facts  []ken.Claim
}

// groups sorts facts into groups, by scope and entity. Those that are to be asked
// about alone are groups by themselves.
func groups(facts []ken.Claim) (out []group) {
	for i := range facts {
		k := &facts[i]
		g := group{k.Scope, spelled(k.Entities)[0], []ken.Claim{*k}}
		at := -1
		if !alone(k) {
			at = slices.IndexFunc(out, func(o group) bool { return o.scope == g.scope && o.entity == g.entity && !alone(&o.facts[0]) })
		}
		if at < 0 {
			out = append(out, g)
		} else {
			out[at].facts = append(out[at].facts, *k)
		}
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.scope.String(), b.scope.String()), cmp.Compare(a.entity, b.entity))
	})
	return out
}

// batches cuts facts into batches of up to n of one group.
func batches(facts []ken.Claim, n int) (out []batch) {
	for _, g := range groups(facts) {
		for chunk := range slices.Chunk(g.facts, n) {
			var b batch
			for i := range chunk {
				b.Facts = append(b.Facts, item{chunk[i].ID, digest(chunk[i].Text)})
			}
			out = append(out, b)
		}
	}
	return out
}

// talks finds statements that speak to who files them. They may well be facts about
// filing facts, so nothing is refused for it.
var talks = lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruct|prompt|rule|above|previous|prior|everything)` +
	`|\b(?:answer|respond|reply|output|return|classify|label|mark|treat|file|report)\b.{0,60}\b(?:constraints?|attributes?|aspects?|dep_t\w+|json|every|all)\b` +
	`|\b(?:every|all|each|any)\b.{0,40}\b(?:is|are|as)\b.{0,20}\bconstraints?\b|/no_think|\bsystem prompt\b|IMPORTANT:`)

// alone reports whether a fact is asked about by itself, because it might have the
// model say something about others: it is from an external source, or talks to the
// model.
func alone(k *ken.Claim) bool { return external(k) || talks.MatchString(k.Text) }

// load reads a batch's facts as they are now: those that stand, say what they said,
// and that want lets pass.
func (c *Classifier) load(ctx context.Context, b *batch, want func(*ken.Claim) bool) ([]ken.Claim, error) {
	var out []ken.Claim
	for _, f := range b.Facts {
		k, err := c.st.Get(ctx, f.ID)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a fact: %w", err)
		}
		if Atomic(&k) && stands(&k, c.o.Now()) && digest(k.Text) == f.Text && named(&k) && want(&k) {
			out = append(out, k)
		}
	}
	return out, nil
}

// named reports whether a claim has a primary entity.
func named(k *ken.Claim) bool { return len(k.Entities) > 0 && analysis.Entity(k.Entities[0]) != "" }

// mostText is what a model sees of a fact, in characters. A claim may be a document.
const mostText = 600

func shown(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	n := 0
	for i := range text {
		if n++; n > mostText {
			return text[:i] + "…"
		}
	}
	return text
}

// errNoModel is why a job can't run where no model is configured.
var errNoModel = &ken.Error{Code: ken.CodeUnavailable, Field: "structure.classify", Msg: "no model is configured",
	Try: "Set harvest.model, or remove the job with ken jobs rm: rules have filed the claims."}

// ask sends a request, unless the model has just failed.
func (c *Classifier) ask(ctx context.Context, g *gate, t task, data any) (string, error) {
	if c.o.Ask == nil {
		return "", errNoModel
	}
	r, err := c.request(t, data)
	if err != nil {
		return "", err
	}
	if err := g.enter(ctx); err != nil {
		return "", err
	}
	text, err := c.o.Ask(ctx, r)
	c.count(func(n *Counts) {
		n.Requests++
		if err != nil {
			n.Failures++
		}
	})
	if ctx.Err() != nil { // that says nothing about the model
		return "", ctx.Err()
	}
	g.leave(err)
	if err != nil {
		return "", fmt.Errorf("ask the model: %w", err)
	}
	return text, nil
}

// parse reads a job's payload.
func parse(j *jobs.Job) (b batch, err error) {
	if err = json.Unmarshal(j.Payload, &b); err != nil {
		err = jobs.Permanent(fmt.Errorf("read job: %w", err))
	}
	return b, err
}
