package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
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
	Groups   []attentionGroup
	Group    *attentionGroup // that the list is narrowed to; nil for all

	Done   int // of several decisions, those that were carried out
	Failed []failure
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

// eventLabels are what people read for the events.
var eventLabels = map[attention.Event]string{
	attention.Disputed:         "was verified, now disputed",
	attention.Contradicts:      "contradiction",
	attention.Superseded:       "replaced by a less certain one",
	attention.Unsure:           "unsure",
	attention.Rejected:         "refused write",
	attention.Rule:             "candidate rule",
	attention.ForgetRequested:  "asked to forget",
	attention.DisputeRequested: "asked to dispute",
}

func attentionPage(v *visit) error { return v.attentionList(&attentionBody{}, http.StatusOK) }

// attentionList shows the queue, or one group of it.
func (v *visit) attentionList(b *attentionBody, status int) error {
	b.Now, b.All = v.now(), v.r.URL.Query().Get("all") == "1"
	err := v.withStore(func(s store.Engine) error {
		wait := v.con.opts.Patience
		if v.r.URL.Query().Has("did") || b.Failed != nil { // what was decided must not be in it any more
			wait = decisionWait
		}
		items, made, unread, err := v.attentionQueue(b.All, wait)
		if err != nil {
			return err
		}
		b.Making = !made
		if unread != nil {
			b.Unread = []string{unread.Error()}
		}
		b.Total = len(items)
		for i := range items {
			if items[i].Severity == attention.Warning {
				b.Warnings++
			}
		}
		items = b.narrow(items, attention.Event(v.param("event")))
		from := listOffset(v.r.URL.Query().Get("from"), len(items))
		end := min(from+itemsPerPage, len(items))
		for _, it := range items[from:end] {
			row, err := v.attentionItem(s, it)
			if err != nil {
				return err
			}
			b.Items = append(b.Items, row)
		}
		if end < len(items) {
			address := v.r.URL
			if b.Group != nil { // after a decision the address is that of the form
				address = &url.URL{Path: Prefix + "attention", RawQuery: url.Values{"event": {string(b.Group.Event)}, "all": v.r.URL.Query()["all"]}.Encode()}
			}
			b.Next = withParam(address, "from", strconv.Itoa(end))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.page("attention", page{Status: status, Title: "Attention", Section: secReview, Tab: "Attention", Live: []string{liveAttention, liveClaims}, Body: b})
}

// narrow leaves the items of one event, or of every event the first ones where there are many.
func (b *attentionBody) narrow(items []attention.Item, event attention.Event) []attention.Item {
	b.Groups = groupsOf(items, event)
	if event == "" {
		return foldGroups(items, b.Groups)
	}
	for i := range b.Groups {
		if b.Groups[i].Here {
			b.Group = &b.Groups[i]
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(it attention.Item) bool { return it.Event != event })
}

// attentionItem reads the claims of an item, and what they rest on. One that is gone
// since the list was made is left out.
func (v *visit) attentionItem(s store.Engine, it attention.Item) (attentionItem, error) {
	out := attentionItem{Item: it, Word: eventLabels[it.Event]}
	switch {
	case it.Refused != nil:
		out.Session, out.Who = it.Refused.Session, nameOf(it.Refused.Actor)
	case it.Asked != nil:
		out.Session, out.Who = it.Asked.Session, nameOf(it.Asked.Actor)
	}
	for _, id := range it.Claims {
		c, err := v.readClaim(v.ctx(), s, id)
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

// attentionItemBody answers why something needs attention: what happened, what it is
// about, and who was told it since.
type attentionItemBody struct {
	Now   time.Time
	Item  attentionItem
	Past  []pastEvent // of all its claims, the latest first
	Since []turnShown // turns that were shown one of the claims since it happened
	More  int         // turns that are not listed
	Least bool        // there may be more turns than were looked at
}

// pastEvent is one entry in the joint history of an item's claims.
type pastEvent struct {
	historyEntry
	Claim  string
	Letter string // of the claim, where there are several
	Cause  bool   // what the item is about
}

// turnShown is a turn that received a claim.
type turnShown struct {
	ledger.Turn
	Claim  string
	Letter string
}

// mostTold bounds the turns that are looked at for each claim.
const maxTold = 200

func attentionItemPage(v *visit) error {
	b := attentionItemBody{Now: v.now()}
	err := v.withStore(func(s store.Engine) error {
		it, err := v.attentionByID(s, v.r.PathValue("item"))
		if err != nil {
			return err
		}
		if b.Item, err = v.attentionItem(s, it); err != nil {
			return err
		}
		if err := v.addHistory(s, &b); err != nil {
			return err
		}
		if !v.principal.Can(access.Operate) { // turns are everybody's conversations
			return nil
		}
		return v.turnsSince(&b)
	})
	if err != nil {
		return err
	}
	return v.page("attention_item", page{Title: "Why does this need attention?", Section: secReview, Tab: "Attention",
		Live: []string{liveAttention, liveClaims, liveTurns}, Body: b})
}

// attentionByID returns the item of an id, dismissed or not. An id names an item as it was:
// what was settled, and what has changed since, has it no more.
func (v *visit) attentionByID(s store.Engine, id string) (attention.Item, error) {
	for _, wait := range []time.Duration{v.con.opts.Patience, decisionWait} { // what is remembered may not have it yet
		items, _, _, err := v.attentionQueue(true, wait)
		if err != nil {
			return attention.Item{}, err
		}
		if i := slices.IndexFunc(items, func(i attention.Item) bool { return i.ID == id }); i >= 0 {
			return items[i], nil
		}
		v.con.pending.invalidate(s.Owner())
	}
	return attention.Item{}, &ken.Error{Code: ken.CodeNotFound, Msg: "this is settled, or has changed since",
		Try: "Look at the queue: what still needs a decision is there as it is now."}
}

// addHistory merges the histories of the item's claims.
func (v *visit) addHistory(s store.Engine, b *attentionItemBody) error {
	for i := range b.Item.Sides {
		id := b.Item.Sides[i].Claim.ID
		events, err := s.History(v.ctx(), id)
		if err != nil {
			return err
		}
		for _, st := range historyEntries(events) {
			b.Past = append(b.Past, pastEvent{historyEntry: st, Claim: id, Letter: b.Item.Letter(i), Cause: st.At.Equal(b.Item.At)})
		}
	}
	slices.SortStableFunc(b.Past, func(x, y pastEvent) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.Seq, x.Seq)) })
	for i := range b.Past {
		if m := &b.Past[i]; m.Cause && b.Item.Who == "" {
			b.Item.Who = nameOf(m.Actor)
		}
	}
	return nil
}

// Letter tells the claims of an item apart, where there are several.
func (i attentionItem) Letter(n int) string {
	if len(i.Sides) < 2 {
		return ""
	}
	return string(rune('A' + n))
}

// turnsSince finds the turns that were shown one of the claims since it happened, as far
// as receipts are kept.
func (v *visit) turnsSince(b *attentionItemBody) error {
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	for i := range b.Item.Sides {
		id := b.Item.Sides[i].Claim.ID
		turns, _ := v.con.turns.ShownIn(v.owner(), id, maxTold)
		n := 0
		for _, t := range turns {
			if !t.At.Before(b.Item.At) {
				b.Since = append(b.Since, turnShown{Turn: t, Claim: id, Letter: b.Item.Letter(i)})
				n++
			}
		}
		b.Least = b.Least || n == maxTold
	}
	slices.SortStableFunc(b.Since, func(x, y turnShown) int { return y.At.Compare(x.At) })
	b.More = max(len(b.Since)-maxShown, 0)
	b.Since = b.Since[:len(b.Since)-b.More]
	return nil
}

// Told is how many turns there were.
func (b attentionItemBody) Told() int { return len(b.Since) + b.More }

// CanVerify reports whether somebody can vouch for the nth claim of an item.
func (i attentionItem) CanVerify(n int) bool {
	return n < len(i.Sides) && i.Sides[n].Claim.Status != ken.StatusSuperseded
}

// InEveryTurn reports whether the item's claim is one that every turn gets.
func (i attentionItem) InEveryTurn() bool {
	return len(i.Sides) > 0 && operator.InMemory(i.Sides[0].Claim.Kind)
}

// attentionAction is a decision about items with certain events.
type attentionAction struct {
	did    string            // of doings
	events []attention.Event // that it settles; nil for all
	do     func(v *visit, s store.Engine, it *attention.Item) error
}

// attentionActions are the decisions, by the last part of the address that a form goes to.
// Whom it is about is not in the form: an item's id stands for the claims as the person
// saw them.
var attentionActions = map[string]attentionAction{
	"dismiss": {"dismissed", nil, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Dismiss(v.ctx(), it.ID)
	}},
	"verify": {"verified", []attention.Event{attention.Disputed, attention.Unsure, attention.Superseded}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Vouch(v.ctx(), it.Claims[len(it.Claims)-1], v.formText("note")) // of two, the one that stands now
	}},
	"correct": {"replaced", []attention.Event{attention.Disputed, attention.Unsure}, func(v *visit, s store.Engine, it *attention.Item) error {
		text := v.formText("text")
		if text == "" {
			return &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "there is nothing to replace it by", Try: "Write what is true instead."}
		}
		_, err := v.desk(s).Replace(v.ctx(), it.Claims[0], text, v.formText("reason"))
		return err
	}},
	"approve": {"approved", []attention.Event{attention.Rule}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Approve(v.ctx(), it.Claims[0])
	}},
	"discard": {"rejected", []attention.Event{attention.Unsure, attention.Rule}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Reject(v.ctx(), it.Claims[0])
	}},
	"restore": {"restored", []attention.Event{attention.Superseded}, func(v *visit, s store.Engine, it *attention.Item) error {
		_, err := v.desk(s).Restore(v.ctx(), it.Claims[0], v.formText("note"))
		return err
	}},
	"stand":   {"decided", []attention.Event{attention.Contradicts}, resolveContradiction},
	"dispute": {"disputed", []attention.Event{attention.DisputeRequested, attention.Superseded}, disputeItem},
	"write":   {"written", []attention.Event{attention.Rejected}, writeRefused},
}

// decideAttention carries out a decision about an item and goes back to the queue: the item is
// gone from it then, or another one.
func decideAttention(v *visit) error {
	what, ok := attentionActions[v.r.PathValue("what")]
	if !ok {
		return errNoPage
	}
	err := v.withStore(func(s store.Engine) error {
		it, err := v.attentionByID(s, v.r.PathValue("item"))
		if err != nil {
			return err
		}
		if what.events != nil && !slices.Contains(what.events, it.Event) {
			return &ken.Error{Code: ken.CodeInvalid, Msg: "this can't be decided so", Try: "Choose one of the buttons that it has."}
		}
		defer v.con.pending.invalidate(s.Owner())
		return what.do(v, s, &it)
	})
	if err != nil {
		return err
	}
	back := v.returnPath(Prefix + "attention")
	if strings.HasPrefix(back, Prefix+"attention/") { // the page of what is settled now
		back = Prefix + "attention"
	}
	return v.redirectDone(back, what.did)
}

// resolveContradiction decides a contradiction for one of the two.
func resolveContradiction(v *visit, s store.Engine, it *attention.Item) error {
	for i, id := range it.Claims {
		if id == v.param("claim") {
			return v.desk(s).Stand(v.ctx(), id, it.Claims[1-i], operator.Fate(v.param("fate")))
		}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "claim", Msg: "none of the two", Try: "Choose the one that stands."}
}

// disputeItem disputes what an agent asks to dispute, and of a supersession the claim that
// has replaced the other.
func disputeItem(v *visit, s store.Engine, it *attention.Item) error {
	return v.desk(s).Dispute(v.ctx(), it.Claims[len(it.Claims)-1], v.formText("reason"))
}

// writeRefused writes on a person's word what an agent was not let write. The key keeps
// the form from writing it twice.
func writeRefused(v *visit, s store.Engine, it *attention.Item) error {
	c, err := ken.NewClaim(v.formText("text"), ken.FromHumanAssertion(v.principal.Name, v.now().UTC(), v.formText("note")))
	if err != nil {
		return err
	}
	if path := v.formText("file"); path != "" {
		e, err := v.fileEvidence(path)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	c.Key, c.Kind, c.Status = "attention:"+it.ID, ken.KindFact, ken.StatusObserved
	c.Owner, c.SourceType, c.Actor, c.Project, c.Importance = s.Owner(), "console", v.actor(), v.principal.Project, 0.5
	if _, err := s.WriteClaim(v.ctx(), c); err != nil {
		return err
	}
	return v.desk(s).Dismiss(v.ctx(), it.ID)
}
