package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// explainIn are knowledge_explain's arguments.
type explainIn struct {
	Turn  string `json:"turn,omitempty" rule:"chars=256" jsonschema:"default: the last turn of this session"`
	Claim string `json:"claim,omitempty" rule:"chars=80" jsonschema:"its id; left out, everything injected is listed"`
}

// explainResult says what a turn was given and why, or what happened to one claim in it.
type explainResult struct {
	Turn     string          `json:"turn"`
	At       time.Time       `json:"at"`
	Session  string          `json:"session_id,omitempty"`
	Mode     string          `json:"mode"`
	Cause    string          `json:"cause,omitempty"`
	Verdict  string          `json:"verdict,omitempty" jsonschema:"of the claim: injected, cut, unseen, unknown or silent"`
	Reason   string          `json:"reason,omitempty" jsonschema:"why it was cut"`
	Why      string          `json:"why,omitempty" jsonschema:"the same in a sentence"`
	Try      string          `json:"try,omitempty" jsonschema:"what would change it"`
	Claim    *claimView      `json:"claim,omitempty" jsonschema:"the claim as it is now"`
	Injected []explainedItem `json:"injected"`
	Cut      map[string]int  `json:"cut,omitempty" jsonschema:"how many were considered and left out, by reason"`
	Degraded []string        `json:"degraded,omitempty" jsonschema:"what had failed in that turn"`
}

// explainedItem is a claim that was injected, with the searches that found it.
type explainedItem struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Tier   string   `json:"tier"`
	Trust  string   `json:"trust"`
	Source string   `json:"source,omitempty" jsonschema:"place of a piece of the repository"`
	Score  float64  `json:"score"`
	Found  []string `json:"found_by"`
}

// Write implements Output.
func (e *explainResult) Write(p *Page) {
	line := "Turn " + e.Turn + " of " + e.At.UTC().Format("2006-01-02 15:04:05") + " UTC, mode " + e.Mode
	if e.Cause != "" {
		line += ": " + e.Cause
	}
	p.Line(line)
	if e.Verdict != "" {
		p.Line("The claim: " + e.Verdict + ". " + e.Why)
		if e.Try != "" {
			p.Line("To change it: " + e.Try)
		}
	}
	for _, d := range e.Degraded {
		p.Line("degraded: " + d)
	}
	if e.Claim != nil {
		p.claim(e.Claim)
	}
	if e.Verdict == "" {
		p.Line(fmt.Sprintf("%d injected, cut: %s", len(e.Injected), countsText(e.Cut)))
		for i := range e.Injected {
			it := &e.Injected[i]
			line := fmt.Sprintf("%s %s %s %s, score %.3f, found by %s", shortID(itemid.Ending(it.ID, ken.Kind(it.Kind))), it.Tier, it.Trust, it.Kind, it.Score, strings.Join(it.Found, ", "))
			if it.Source != "" {
				line += ", from " + it.Source
			}
			p.Line(line)
		}
	}
}

func knowledgeExplain() Tool {
	return Define(Spec{Name: "knowledge_explain", Title: "Why was this injected, or not", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Say why a claim was or was not in the knowledge block of a turn: which search found it, or what cut it.",
		Example:     `{"claim":"3f9a2c71"}`},
		func(ctx context.Context, c *Call, in explainIn) (*explainResult, error) {
			rec, err := c.turnOrLast(ctx, in.Turn)
			if err != nil {
				return nil, err
			}
			out := &explainResult{Turn: rec.Turn, At: rec.At, Session: rec.Session, Mode: string(rec.Mode), Cause: oneLine(rec.Cause, maxHeading),
				Injected: []explainedItem{}}
			for _, d := range rec.Degraded {
				out.Degraded = append(out.Degraded, oneLine(d, maxHeading))
			}
			if in.Claim != "" {
				return out, c.explain(ctx, &rec, in.Claim, out)
			}
			out.Cut = map[string]int{}
			for i := range rec.Cut {
				if c.seesID(ctx, rec.Cut[i].ID) {
					out.Cut[string(rec.Cut[i].Reason)]++
				}
			}
			for i := range rec.Items {
				it := &rec.Items[i]
				if !c.seesID(ctx, it.ID) {
					continue
				}
				out.Injected = append(out.Injected, explainedItem{ID: it.ID, Kind: string(it.Kind), Tier: it.Tier.String(), Trust: it.Trust.String(), Source: oneLine(it.Source, maxHeading),
					Score: it.Fused, Found: foundBy(it.Legs)})
			}
			return out, nil
		})
}

// turnOrLast returns the receipt of a turn. If turn is "", it returns the receipt of the last turn
// of the caller's session, or of the last turn of its owner if the caller has no session.
func (c *Call) turnOrLast(ctx context.Context, turn string) (receipt.Record, error) {
	if err := c.r.layer.Operator().Recorded(ctx); err != nil { // the current turn may be the one that is asked for
		return receipt.Record{}, err
	}
	if turn != "" {
		return c.turn(ctx, turn)
	}
	sessions := []string{c.Session}
	if len(c.Scopes) == 0 {
		sessions = append(sessions, "")
	}
	for _, s := range sessions {
		list, _, err := c.r.layer.Operator().Receipts(c.Owner).List(ctx, receipt.Query{Session: s, Limit: 1})
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return receipt.Record{}, err
		}
		if len(list) > 0 && (s != "" || len(c.Scopes) == 0) {
			return list[0], nil
		}
	}
	return receipt.Record{}, noTurn("of this session")
}

// explain sets the verdict on a claim in a turn.
func (c *Call) explain(ctx context.Context, rec *receipt.Record, id string, out *explainResult) error {
	var whole string
	k, err := c.readable(ctx, id)
	switch {
	case err == nil:
		whole = k.ID
		shown := c.show(k)
		out.Claim = &shown
	case errors.Is(err, ken.ErrNotFound), errors.Is(err, ken.ErrRefused): // forgotten, or a piece of a file
		if whole, err = c.idInReceipt(ctx, rec, id, err); err != nil {
			return err
		}
	default:
		return err
	}
	e, err := c.r.layer.Operator().Explain(ctx, c.Owner, rec.Turn, whole)
	if errors.Is(err, ken.ErrNotFound) {
		return notFound(id)
	}
	if err != nil {
		return err
	}
	out.Verdict, out.Reason = string(e.Verdict), string(e.Reason)
	out.Why, out.Try = oneLine(e.Why, 500), oneLine(e.Try, 500)
	return nil
}

// idInReceipt finds the id of a forgotten claim or of a piece of a file in a receipt. For an id
// that the caller may not see it returns otherwise.
func (c *Call) idInReceipt(ctx context.Context, rec *receipt.Record, id string, otherwise error) (string, error) {
	endings := map[string]string{}
	for i := range rec.Cut {
		endings[rec.Cut[i].ID] = rec.Cut[i].ID
	}
	for i := range rec.Items {
		it := &rec.Items[i]
		endings[it.ID] = itemid.Ending(it.ID, it.Kind)
	}
	id = itemid.Bare(id)
	found := ""
	for s, ending := range endings {
		if len(id) >= 6 && (strings.HasPrefix(s, id) || strings.HasSuffix(s, id) || strings.HasSuffix(ending, id)) {
			if found != "" {
				return "", invalid("claim", clip(id)+" names more than one", "Give the whole id.")
			}
			found = s
		}
	}
	if found == "" || !c.seesID(ctx, found) {
		return "", otherwise
	}
	return found, nil
}

// seesID reports whether the caller may know about an id in a receipt. Callers with scopes may not
// know about forgotten claims.
func (c *Call) seesID(ctx context.Context, id string) bool {
	if len(c.Scopes) == 0 {
		return true
	}
	k, err := c.Store.Get(ctx, id)
	return err == nil && c.sees(&k)
}

// foundBy lists the searches that found an item, each with its rank.
func foundBy(m map[string]ken.LegScore) []string {
	out := []string{}
	for _, name := range sortedKeys(m) {
		out = append(out, fmt.Sprintf("%s #%d", name, m[name].Rank))
	}
	return out
}
