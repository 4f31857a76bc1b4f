package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// Explain is an error of a call as a text for the model that made it: what is wrong
// and how to mend it. What went wrong within Ken is not told in detail, because it may
// name paths and addresses that are no model's business; the registry's log has it.
func Explain(err error) string {
	var e *ken.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "The call was stopped before it was done."
	case internal(err):
		return "The tool failed (internal). Go on without it, or try it again later; the operator's log says why."
	}
	errors.As(err, &e)
	var b strings.Builder
	b.WriteString("The call failed (" + string(e.Code) + ")")
	if said := strings.Trim(e.Field+": "+e.Msg, ": "); said != "" {
		b.WriteString(": " + said)
	}
	if hint := ken.Hint(err); hint != "" {
		b.WriteString("\nTry: " + hint)
	}
	return bounded(safe(b.String()), maxExplained)
}

// internal reports a fault of ours.
func internal(err error) bool {
	var e *ken.Error
	return !errors.As(err, &e) || e.Code == ken.CodeInternal || e.Code == ken.CodeCorrupt
}

// maxExplained bounds an error's text, in code points.
const maxExplained = 2000

// unfit is the error of arguments that do not fit.
func unfit(t *Tool, faults []fault) error {
	msgs := make([]string, len(faults))
	for i, f := range faults {
		msgs[i] = f.String()
		if i == 0 {
			msgs[i] = f.msg
		}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: faults[0].field, Msg: strings.Join(msgs, "; "),
		Try: "Call " + t.Name + " again with arguments such as " + t.Example}
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func refused(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: field, Msg: msg, Try: try}
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "there is no claim " + clipped(id),
		Try: "Take the id from memory_recall, or the letters after k: in a block."}
}

// explainIn are knowledge_explain's arguments.
type explainIn struct {
	Turn  string `json:"turn,omitempty" rule:"chars=256" jsonschema:"default: the last turn of this session"`
	Claim string `json:"claim,omitempty" rule:"chars=80" jsonschema:"its id; left out, everything injected is listed"`
}

// explainOutput says what a turn was given and why, or what became of one claim in it.
type explainOutput struct {
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

// explainedItem is a claim that was injected, and what brought it there.
type explainedItem struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Tier  string   `json:"tier"`
	Trust string   `json:"trust"`
	Score float64  `json:"score"`
	Found []string `json:"found_by"`
}

// Write implements Output.
func (e *explainOutput) Write(p *Page) {
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
		p.Item(e.Claim)
	}
	if e.Verdict == "" {
		p.Line(fmt.Sprintf("%d injected, cut: %s", len(e.Injected), counted(e.Cut)))
		for i := range e.Injected {
			it := &e.Injected[i]
			p.Line(fmt.Sprintf("%s %s %s %s, score %.3f, found by %s", shortID(it.ID), it.Tier, it.Trust, it.Kind, it.Score, strings.Join(it.Found, ", ")))
		}
	}
}

func knowledgeExplain() Tool {
	return Define(Spec{Name: "knowledge_explain", Title: "Why was this injected, or not", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Say why a claim was or was not in the knowledge block of a turn: which search found it, or what cut it.",
		Example:     `{"claim":"3f9a2c71"}`},
		func(ctx context.Context, c *Call, in explainIn) (*explainOutput, error) {
			rec, err := c.turnOrLast(ctx, in.Turn)
			if err != nil {
				return nil, err
			}
			out := &explainOutput{Turn: rec.Turn, At: rec.At, Session: rec.Session, Mode: string(rec.Mode), Cause: oneLine(rec.Cause, maxHeading),
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
				out.Injected = append(out.Injected, explainedItem{ID: it.ID, Kind: string(it.Kind), Tier: it.Tier.String(), Trust: it.Trust.String(),
					Score: it.Fused, Found: legs(it.Legs)})
			}
			return out, nil
		})
}

// turnOrLast returns the receipt of a turn, the last one of the caller's session
// without one. A program whose calls are in no session of a conversation has the last
// turn of its owner.
func (c *Call) turnOrLast(ctx context.Context, turn string) (receipt.Record, error) {
	if err := c.r.layer.Recorded(ctx); err != nil { // the turn that calls may be the one that is asked for
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
		list, _, err := c.r.layer.Receipts(c.Owner).List(ctx, receipt.Query{Session: s, Limit: 1})
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return receipt.Record{}, err
		}
		if len(list) > 0 && (s != "" || len(c.Scopes) == 0) {
			return list[0], nil
		}
	}
	return receipt.Record{}, noTurn("of this session")
}

// explain fills in what became of a claim.
func (c *Call) explain(ctx context.Context, rec *receipt.Record, id string, out *explainOutput) error {
	var whole string
	k, err := c.readable(ctx, id)
	switch {
	case err == nil:
		whole = k.ID
		shown := c.show(k)
		out.Claim = &shown
	case errors.Is(err, ken.ErrNotFound), errors.Is(err, ken.ErrRefused): // forgotten, or a piece of the repository
		if whole, err = c.named(ctx, rec, id, err); err != nil {
			return err
		}
	default:
		return err
	}
	e, err := c.r.layer.Explain(ctx, c.Owner, rec.Turn, whole)
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

// named finds an id that the receipt names: of a claim that is gone, or of a piece of
// the repository. What the caller may not see stays not found.
func (c *Call) named(ctx context.Context, rec *receipt.Record, id string, otherwise error) (string, error) {
	ids := make([]string, 0, len(rec.Items)+len(rec.Cut))
	for i := range rec.Items {
		ids = append(ids, rec.Items[i].ID)
	}
	for i := range rec.Cut {
		ids = append(ids, rec.Cut[i].ID)
	}
	id = strings.ToLower(strings.TrimSpace(id))
	found := ""
	for _, s := range ids {
		if len(id) >= 6 && (strings.HasPrefix(s, id) || strings.HasSuffix(s, id)) && s != found {
			if found != "" {
				return "", invalid("claim", clipped(id)+" names more than one", "Give the whole id.")
			}
			found = s
		}
	}
	if found == "" || !c.seesID(ctx, found) {
		return "", otherwise
	}
	return found, nil
}

// seesID reports whether the caller may know of an id that a receipt names. Within
// scopes, what is gone is nobody's.
func (c *Call) seesID(ctx context.Context, id string) bool {
	if len(c.Scopes) == 0 {
		return true
	}
	k, err := c.Store.Get(ctx, id)
	return err == nil && c.sees(&k)
}

// legs names the searches that found an item, with its rank.
func legs(m map[string]ken.LegScore) []string {
	out := []string{}
	for _, name := range sorted(m) {
		out = append(out, fmt.Sprintf("%s #%d", name, m[name].Rank))
	}
	return out
}

// historyIn are knowledge_history's arguments.
type historyIn struct {
	ID    string `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Limit int    `json:"limit,omitempty" rule:"min=1;max=100;default=20"`
}

// eventView is one thing that happened to a claim.
type eventView struct {
	At       time.Time `json:"at"`
	Type     string    `json:"type"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Other    string    `json:"other,omitempty" jsonschema:"the claim that replaced it"`
	Evidence []string  `json:"evidence,omitempty"`
	Erased   bool      `json:"erased,omitempty" jsonschema:"the details were forgotten"`
}

// historyOutput is what happened to a claim, oldest first.
type historyOutput struct {
	ID     string      `json:"id"`
	Claim  *claimView  `json:"claim,omitempty" jsonschema:"as it is now; none when it was forgotten"`
	Events []eventView `json:"events"`
	Older  int         `json:"older,omitempty" jsonschema:"events before these"`
}

// Write implements Output.
func (h *historyOutput) Write(p *Page) {
	p.Line("What happened to claim " + h.ID + ", oldest first:")
	if h.Older > 0 {
		p.Line(strconv.Itoa(h.Older) + " earlier events are left out.")
	}
	if h.Claim != nil {
		if h.Claim.Session != "" {
			p.Line("It was learned in session " + h.Claim.Session + ".")
		}
		p.Item(h.Claim)
	}
	for i := range h.Events {
		e := &h.Events[i]
		line := e.At.UTC().Format("2006-01-02 15:04:05") + " " + e.Type
		if e.From != "" {
			line += " " + e.From + " to"
		}
		if e.To != "" {
			line += " " + e.To
		}
		if e.By != "" {
			line += " by " + e.By
		}
		var more []string
		if e.Reason != "" {
			more = append(more, "because: "+e.Reason)
		}
		if e.Other != "" {
			more = append(more, "claim "+e.Other)
		}
		if e.Erased {
			more = append(more, "forgotten")
		}
		more = append(more, e.Evidence...)
		if len(more) == 0 {
			more = []string{"no details"}
		}
		p.Part(safe(line), more)
	}
}

func knowledgeHistory() Tool {
	return Define(Spec{Name: "knowledge_history", Title: "History of a claim", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what happened to a claim: when it was learned, backed, verified, disputed or replaced, by whom, and on what evidence.",
		Example:     `{"id":"3f9a2c71"}`},
		func(ctx context.Context, c *Call, in historyIn) (*historyOutput, error) {
			if in.Limit == 0 {
				in.Limit = 20
			}
			out := &historyOutput{ID: in.ID, Events: []eventView{}}
			k, err := c.find(ctx, in.ID)
			switch {
			case err == nil:
				out.ID = k.ID
				shown := c.show(k)
				out.Claim = &shown
			case !errors.Is(err, ken.ErrNotFound) || len(c.Scopes) > 0: // of a forgotten one nobody knows the scope
				return nil, err
			}
			events, failed := c.Store.History(ctx, out.ID)
			if errors.Is(failed, ken.ErrNotFound) || failed == nil && out.Claim == nil && !forgotten(events) {
				return nil, notFound(in.ID)
			}
			if failed != nil {
				return nil, failed
			}
			if out.Older = len(events) - in.Limit; out.Older > 0 {
				events = events[out.Older:]
			}
			out.Older = max(out.Older, 0)
			for i := range events {
				out.Events = append(out.Events, event(&events[i]))
			}
			return out, nil
		})
}

// forgotten reports the history of a claim that was erased: that of one which is
// there, but which the caller may not see, is not its business.
func forgotten(events []ken.ClaimEvent) bool {
	for _, e := range events {
		if e.Type == ken.EventForgotten {
			return true
		}
	}
	return false
}

func event(e *ken.ClaimEvent) eventView {
	out := eventView{At: e.At.UTC(), Type: string(e.Type), From: string(e.From), To: string(e.To), By: oneLine(e.Actor.ID, maxSource),
		Reason: oneLine(e.Reason, 400), Other: e.Other, Erased: e.Erased}
	for _, p := range e.Evidence[:min(len(e.Evidence), 20)] {
		out.Evidence = append(out.Evidence, oneLine(label(p), 300))
	}
	return out
}
