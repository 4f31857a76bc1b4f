package middleware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	if err := l.recorder.flush(ctx); err != nil {
		return nil, err
	}
	s, release, err := l.Store(ctx, owner)
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
	for _, look := range []func(context.Context) (inspect.Check, error){c.claims, c.keyword, c.vectors, c.structure, c.history, c.messages, c.injected,
		c.checkpoints, c.receipts, c.attention, c.blocks, c.memoryFile, c.chain} {
		found, err := look(ctx)
		if err != nil {
			return c.checks, fmt.Errorf("check %s: %w", found.Name, err)
		}
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

func (c *deletionChecker) claims(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "claims", Where: "the table of claims, by id and by what each of them says"}
	var left, same []string
	for _, id := range c.ids {
		if _, err := c.s.Get(ctx, id); err == nil {
			left = append(left, id)
		} else if !errors.Is(err, ken.ErrNotFound) {
			return out, err
		}
	}
	if c.matcher != nil {
		r := &deletionScope{matcher: c.matcher}
		if _, err := r.scan(ctx, c.s); err != nil {
			return out, err
		}
		for i := range r.others {
			if !slices.Contains(left, r.others[i].ID) {
				same = append(same, r.others[i].ID)
			}
		}
	}
	out.Detail = joinDetails(listIDs("still there:", left), listIDs("say the same:", same))
	return out, nil
}

// joinDetails joins the details that are not empty.
func joinDetails(details ...string) string {
	return strings.Join(slices.DeleteFunc(details, func(d string) bool { return d == "" }), "; ")
}

// matchAll returns a filter that accepts every record.
func matchAll() *ken.Filter { return &ken.Filter{Statuses: ken.Statuses(), Structural: true} }

// maxHits is how many hits of a search are examined.
const maxHits = 100

func (c *deletionChecker) keyword(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "keyword index", Where: "the index of words, asked for all that each claim said"}
	var left []string
	for i := range c.before {
		res, err := c.s.Keyword(ctx, c.before[i].Heading+"\n"+c.before[i].Text, matchAll(), maxHits)
		if err != nil {
			return out, err
		}
		left = append(left, c.hits(res)...)
	}
	out.Detail = listIDs("found:", left)
	return out, nil
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
	out := inspect.Check{Name: "vectors", Where: "the nearest to what each claim said", Clean: true}
	e := c.s.Embedder()
	switch {
	case e == nil:
		out.Detail = "no vectors are kept"
		return out, nil
	case !embed.IsLocal(e):
		out.Where = "the records that vectors belong to"
		for _, id := range c.ids {
			out.Clean = out.Clean && !c.s.Has(id)
		}
		out.Detail = "the service that embeds was not given the words again"
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

func (c *deletionChecker) structure(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "structure", Where: "what is filed under the names that the claims were about, or points at them"}
	var names []string
	for i := range c.before {
		names = append(names, analysis.Entities(c.before[i].Entities)...)
	}
	under, err := c.s.Outlines(ctx, names, matchAll(), store.OutlineOptions{Top: math.MaxInt, Links: math.MaxInt, Aspects: math.MaxInt, Mentioned: names})
	if err != nil {
		return out, err
	}
	refs, err := c.s.Referring(ctx, append(slices.Clone(c.ids), names...), matchAll())
	if err != nil {
		return out, err
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
	out.Detail = listIDs("found:", left)
	return out, nil
}

func (c *deletionChecker) history(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "history", Where: "the details of the claims' events in the log"}
	var left []string
	for _, id := range c.ids {
		events, err := c.s.History(ctx, id)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return out, err
		}
		if slices.ContainsFunc(events, func(ev ken.ClaimEvent) bool {
			return ev.Type != ken.EventForgotten && ev.Type != ken.EventSuperseded && !ev.Erased
		}) {
			left = append(left, id)
		}
	}
	out.Detail = listIDs("still told of:", left)
	return out, nil
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

func (c *deletionChecker) messages(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "journals", Where: "the messages of every session"}
	held, err := c.journals(ctx)
	out.Detail = listIDs("said in", held.Sessions)
	return out, err
}

func (c *deletionChecker) injected(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "injected texts", Where: "what was put before models, in every session"}
	held, err := c.journals(ctx)
	out.Detail = listIDs("in", held.Injected)
	return out, err
}

func (c *deletionChecker) checkpoints(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "checkpoints", Where: "where every session stands"}
	held, err := c.journals(ctx)
	out.Detail = listIDs("in", held.Checkpoint)
	return out, err
}

func (c *deletionChecker) receipts(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "receipts", Where: "the receipts of turns, in which nothing but ids may be left"}
	n, err := c.l.Operator().Receipts(c.s.Owner()).Holds(ctx, receipt.Traces{Claims: c.ids, Text: c.matches}, nil)
	if n > 0 {
		out.Detail = fmt.Sprintf("%d of them tell more", n)
	}
	return out, err
}

func (c *deletionChecker) attention(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "attention", Where: "what agents have asked a person to do, and were not let write"}
	n, err := attention.Holds(ctx, c.s.Shelf(), attention.Traces{Claims: c.ids, Text: c.matches})
	if n > 0 {
		out.Detail = fmt.Sprintf("%d of them tell of it", n)
	}
	return out, err
}

func (c *deletionChecker) blocks(context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "running conversations", Where: "the blocks that this process would send on"}
	if n := c.l.blocks.count(containsForgotten(c.s.Owner(), c.ids, c.matcher)); n > 0 {
		out.Detail = fmt.Sprintf("%d of them have it", n)
	}
	return out, nil
}

func (c *deletionChecker) memoryFile(context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: memoryfile.Name, Where: "the file that people read and edit", Clean: true}
	if c.s.Owner() != c.l.cfg.Knowledge.Owner {
		out.Detail = "this owner has none"
		return out, nil
	}
	b, err := memoryfile.Read(filepath.Join(c.l.o.Root, memoryfile.Dir, memoryfile.Name))
	if errors.Is(err, os.ErrNotExist) {
		out.Detail = "there is none"
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
		says = "it says so"
	}
	out.Detail = joinDetails(listIDs("it has", left), says)
	out.Clean = out.Detail == ""
	return out, nil
}

func (c *deletionChecker) chain(ctx context.Context) (inspect.Check, error) {
	out := inspect.Check{Name: "log", Where: "the chain of hashes, from the first event to the last", Clean: true}
	r, err := c.s.VerifyLog(ctx)
	if errors.Is(err, ken.ErrCorrupt) {
		out.Clean, out.Detail = false, err.Error()
		return out, nil
	}
	out.Detail = fmt.Sprintf("%d events verify, %d of them without what they said", r.Events, r.Erased)
	return out, err
}
