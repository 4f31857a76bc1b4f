package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// CheckForgotten searches, after a Forget, every place where knowledge is kept for the ids of the
// deleted claims and for the text of the requested claim. was holds the claims before the Forget,
// in any order; callers get them for example from WouldForget. Claims missing from was are searched
// by id only. Text that was said or written after the Forget is found too. CheckForgotten reads
// every claim, every journal and the whole log, and changes nothing.
//
// It sends the text to no service: if vectors come from one, the nearest vectors are not searched.
//
// After an error no result is known. The errors are those of Forget.
func (l operator) CheckForgotten(ctx context.Context, owner string, was []ken.Claim, gone Forgotten) ([]inspect.Check, error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	c := deletionChecker{l: l.Layer, s: s, before: was, ids: slices.Clone(gone.Claims)}
	for i := range was {
		if len(gone.Claims) > 0 && was[i].ID == gone.Claims[0] {
			c.matcher = matcher.New(&was[i])
		}
	}
	detail := func(find func(context.Context) (string, error)) func(context.Context) (inspect.Check, error) {
		return func(ctx context.Context) (inspect.Check, error) {
			found, err := find(ctx)
			return inspect.Check{Detail: found}, err
		}
	}
	journal := func(says string, held func(*session.Holding) []string) func(context.Context) (inspect.Check, error) {
		return detail(func(ctx context.Context) (string, error) {
			h, err := c.journals(ctx)
			return listIDs(says, held(h)), err
		})
	}
	for _, look := range []struct {
		name, where string
		find        func(context.Context) (inspect.Check, error)
	}{
		{"claims", "the table of claims, by id and by text", detail(c.claims)},
		{"keyword index", "the keyword index, searched for the claims' texts", detail(c.keyword)},
		{"vectors", "the vectors nearest to the claims' texts", c.vectors},
		{"structure", "the records under the claims' entities, and those that refer to the claims", detail(c.structure)},
		{"history", "the details of the claims' events in the log", detail(c.history)},
		{"journals", "the messages of every session", journal("said in", func(h *session.Holding) []string { return h.Sessions })},
		{"injected texts", "the texts that models received, in every session", journal("in", func(h *session.Holding) []string { return h.Injected })},
		{"checkpoints", "the checkpoint of every session", journal("in", func(h *session.Holding) []string { return h.Checkpoint })},
		{"receipts", "the receipts of turns, which may keep the ids only", detail(c.receipts)},
		{"attention", "requests of agents to a person, and writes that were refused", detail(c.attention)},
		{"running conversations", "the blocks that this process keeps for the next requests", detail(c.blocks)},
		{memoryfile.Name, "the memory file", c.memoryFile},
		{"log", "the chain of hashes, from the first event to the last", c.chain},
	} {
		found, err := look.find(ctx)
		if err != nil {
			return c.checks, fmt.Errorf("check %s: %w", look.name, err)
		}
		found.Name, found.Where = look.name, cmp.Or(found.Where, look.where)
		found.Clean = found.Detail == "" || found.Clean
		c.checks = append(c.checks, found)
	}
	return c.checks, nil
}

// deletionChecker holds the state of one CheckForgotten.
type deletionChecker struct {
	l              *Layer
	s              store.Engine
	before         []ken.Claim
	ids            []string
	matcher        *matcher.Claim // nil if the forgotten text is not known
	journalHolding *session.Holding
	checks         []inspect.Check
}

// matches reports whether a text contains what was forgotten.
func (c *deletionChecker) matches(text string) bool {
	return c.matcher != nil && c.matcher.MatchText(text)
}

// listIDs returns the detail of a Check for ids that were found.
func listIDs(what string, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return what + " " + strings.Join(ids, ", ")
}

func (c *deletionChecker) claims(ctx context.Context) (string, error) {
	var left, same []string
	for _, id := range c.ids {
		if _, err := c.s.Get(ctx, id); err == nil {
			left = append(left, id)
		} else if !errors.Is(err, ken.ErrNotFound) {
			return "", err
		}
	}
	if c.matcher != nil {
		r := &deletionScope{matcher: c.matcher}
		if _, err := r.scan(ctx, c.s); err != nil {
			return "", err
		}
		for i := range r.others {
			if !slices.Contains(left, r.others[i].ID) {
				same = append(same, r.others[i].ID)
			}
		}
	}
	return joinDetails(listIDs("still there:", left), listIDs("with the same content:", same)), nil
}

func joinDetails(details ...string) string {
	return strings.Join(slices.DeleteFunc(details, func(d string) bool { return d == "" }), "; ")
}

// matchAll returns a filter that accepts every record.
func matchAll() *ken.Filter { return &ken.Filter{Statuses: ken.Statuses(), Structural: true} }

// maxHits is how many hits of a search are examined.
const maxHits = 100

func (c *deletionChecker) keyword(ctx context.Context) (string, error) {
	var left []string
	for i := range c.before {
		res, err := c.s.Keyword(ctx, c.before[i].Heading+"\n"+c.before[i].Text, matchAll(), maxHits)
		if err != nil {
			return "", err
		}
		left = append(left, c.hits(res)...)
	}
	return listIDs("found:", left), nil
}

// hits returns the deleted ids that a search found.
func (c *deletionChecker) hits(res store.Result) (left []string) {
	for _, h := range res.Hits {
		if row, ok := c.s.Row(h.Ref); ok && slices.Contains(c.ids, row.ID) {
			left = append(left, row.ID)
		}
	}
	return left
}

func (c *deletionChecker) vectors(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Clean: true}
	e := c.s.Embedder()
	switch {
	case e == nil:
		out.Detail = "no vectors are kept"
		return out, nil
	case !embed.IsLocal(e):
		out.Where = "the records that have vectors"
		for _, id := range c.ids {
			out.Clean = out.Clean && !c.s.Has(id)
		}
		out.Detail = "the vectors were not searched, because that would send the text to the embedding service"
		return out, nil
	}
	var texts []string
	for i := range c.before {
		texts = append(texts, engine.EmbedText(&c.before[i]))
	}
	if len(texts) == 0 {
		return out, nil
	}
	vecs, err := e.Embed(ctx, texts)
	if err != nil {
		return out, err
	}
	var left []string
	for _, v := range vecs {
		res, err := c.s.Vector(ctx, v, matchAll(), maxHits)
		if err != nil {
			return out, err
		}
		left = append(left, c.hits(res)...)
	}
	out.Clean, out.Detail = len(left) == 0, listIDs("found:", left)
	return out, nil
}

func (c *deletionChecker) structure(ctx context.Context) (string, error) {
	var names []string
	for i := range c.before {
		names = append(names, analysis.Entities(c.before[i].Entities)...)
	}
	under, err := c.s.Outlines(ctx, names, matchAll(), store.OutlineOptions{Top: math.MaxInt, Links: math.MaxInt, Aspects: math.MaxInt, Mentioned: names})
	if err != nil {
		return "", err
	}
	refs, err := c.s.Referring(ctx, append(slices.Clone(c.ids), names...), matchAll())
	if err != nil {
		return "", err
	}
	for i := range under {
		refs = append(refs, under[i].Constraints...)
		for _, link := range under[i].Links {
			refs = append(refs, link.Ref)
		}
		for _, a := range under[i].Aspects {
			refs = append(refs, a.Top...)
		}
	}
	var left []string
	for _, ref := range refs {
		if row, ok := c.s.Row(ref); ok && slices.Contains(c.ids, row.ID) && !slices.Contains(left, row.ID) {
			left = append(left, row.ID)
		}
	}
	return listIDs("found:", left), nil
}

func (c *deletionChecker) history(ctx context.Context) (string, error) {
	var left []string
	for _, id := range c.ids {
		events, err := c.s.History(ctx, id)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return "", err
		}
		if slices.ContainsFunc(events, func(ev ken.ClaimEvent) bool {
			return ev.Type != ken.EventForgotten && ev.Type != ken.EventSuperseded && !ev.Erased
		}) {
			left = append(left, id)
		}
	}
	return listIDs("events with details left:", left), nil
}

// journals searches the journals on the first call and caches the result.
func (c *deletionChecker) journals(ctx context.Context) (*session.Holding, error) {
	if c.journalHolding != nil {
		return c.journalHolding, nil
	}
	t := session.Traces{Message: func(string, *session.Entry) bool { return false }, Text: c.matches, Claims: c.ids}
	if c.matcher != nil {
		t.Message = c.matcher.MatchMessage
	}
	held, err := c.l.Operator().Journal(c.s.Owner()).Holds(ctx, t)
	c.journalHolding = &held
	return c.journalHolding, err
}

func (c *deletionChecker) receipts(ctx context.Context) (string, error) {
	n, err := c.l.Operator().Receipts(c.s.Owner()).Holds(ctx, receipt.Traces{Claims: c.ids, Text: c.matches}, nil)
	return countText(n, "of them contain more"), err
}

func (c *deletionChecker) attention(ctx context.Context) (string, error) {
	n, err := attention.Holds(ctx, c.s.Shelf(), attention.Traces{Claims: c.ids, Text: c.matches})
	return countText(n, "of them mention it"), err
}

func (c *deletionChecker) blocks(context.Context) (string, error) {
	return countText(c.l.blocks.count(containsForgotten(c.s.Owner(), c.ids, c.matcher)), "of them contain it"), nil
}

// countText returns the number and what it says; "" for 0.
func countText(n int, says string) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + " " + says
}

func (c *deletionChecker) memoryFile(context.Context) (inspect.Check, error) {
	out := inspect.Check{Clean: true}
	if c.s.Owner() != c.l.cfg.Knowledge.Owner {
		out.Detail = "this owner has no such file"
		return out, nil
	}
	b, err := memoryfile.Read(filepath.Join(c.l.o.Root, memoryfile.Dir, memoryfile.Name))
	if errors.Is(err, os.ErrNotExist) {
		out.Detail = "there is no such file"
		return out, nil
	}
	if err != nil {
		return out, err
	}
	var left []string
	for _, id := range c.ids {
		if strings.Contains(string(b), id) {
			left = append(left, id)
		}
	}
	says := ""
	if c.matches(string(b)) {
		says = "it contains the text"
	}
	out.Detail = joinDetails(listIDs("it contains", left), says)
	out.Clean = out.Detail == ""
	return out, nil
}

func (c *deletionChecker) chain(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Clean: true}
	r, err := c.s.VerifyLog(ctx)
	if errors.Is(err, ken.ErrCorrupt) {
		out.Clean, out.Detail = false, err.Error()
		return out, nil
	}
	out.Detail = fmt.Sprintf("%d events verified; the content of %d of them was erased", r.Events, r.Erased)
	return out, err
}
