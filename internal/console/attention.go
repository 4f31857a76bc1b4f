package console

import (
	"errors"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

// attentionBody is a page of the queue.
type attentionBody struct {
	Making   bool // it is made for the first time
	Now      time.Time
	Items    []attentionItem
	Total    int
	Warnings int      // items that are one
	All      bool     // what was dismissed is there, too
	Unread   []string // notes that are missing from the list
	Next     string
}

// attentionItem is an item of the queue with the claims that it is about.
type attentionItem struct {
	attention.Item
	Word    string      // what happened, in a word or two
	Sides   []claimBody // the claims that it is about, as they are now
	Session string      // that an agent did it in
	Who     string      // did it; "" when that is not known
}

// itemsPerPage is how many items a page of the queue shows.
const itemsPerPage = 50

// eventWords are what people read for the events.
var eventWords = map[attention.Event]string{
	attention.Disputed:         "was verified, now disputed",
	attention.Contradicts:      "contradiction",
	attention.Superseded:       "replaced by a less certain one",
	attention.Unsure:           "unsure",
	attention.Rejected:         "refused write",
	attention.ForgetRequested:  "asked to forget",
	attention.DisputeRequested: "asked to dispute",
}

func attentionPage(v *visit) error {
	b := attentionBody{Now: v.now(), All: v.text("all") == "1"}
	err := v.withStore(func(s store.Engine) error {
		wait := v.con.o.Patience
		if v.r.URL.Query().Has("did") { // what was decided must not be in it any more
			wait = decidedPatience
		}
		items, made, unread, err := v.queue(b.All, wait)
		if err != nil {
			return err
		}
		b.Making = !made
		if unread != nil {
			b.Unread = []string{unread.Error()}
		}
		b.Total = len(items)
		for i := range items {
			if items[i].Severity == ken.SeverityWarning {
				b.Warnings++
			}
		}
		from := offset(v.text("from"), len(items))
		end := min(from+itemsPerPage, len(items))
		for _, it := range items[from:end] {
			row, err := v.attentionItem(s, it)
			if err != nil {
				return err
			}
			b.Items = append(b.Items, row)
		}
		if end < len(items) {
			b.Next = with(v.r.URL, "from", strconv.Itoa(end))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.page("attention", page{Title: "Attention", Section: secReview, Tab: "Attention", Live: []string{liveAttention, liveClaims}, Body: b})
}

// attentionItem reads the claims of an item, and what they rest on. One that is gone
// since the list was made is left out.
func (v *visit) attentionItem(s store.Engine, it attention.Item) (attentionItem, error) {
	out := attentionItem{Item: it, Word: eventWords[it.Event]}
	switch {
	case it.Refused != nil:
		out.Session, out.Who = it.Refused.Session, nameOf(it.Refused.Actor)
	case it.Asked != nil:
		out.Session, out.Who = it.Asked.Session, nameOf(it.Asked.Actor)
	}
	for _, id := range it.Claims {
		c, err := v.view(v.ctx(), s, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return out, err
		}
		b := claimBody{Claim: c, Row: rowOf(&c, v.now()), Now: v.now()}
		if err := v.evidence(&b); err != nil {
			return out, err
		}
		out.Sides = append(out.Sides, b)
	}
	return out, nil
}

// nameOf is how a line names who did something.
func nameOf(a ken.Actor) string {
	switch {
	case a.ID == "":
		return a.Type
	case a.Type == "":
		return a.ID
	}
	return a.Type + " " + a.ID
}
