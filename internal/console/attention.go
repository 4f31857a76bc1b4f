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

type attentionBody struct {
	Computing bool // the queue is being computed for the first time
	Now       time.Time
	Items     []attentionItem
	Total     int
	Warnings  int      // items that are warnings
	All       bool     // includes dismissed items
	Unread    []string // what could not be read and is missing
	Next      string
	Groups    []attentionGroup
	Group     *attentionGroup // the group that is shown; nil for all

	Done   int // decisions carried out, when several were requested
	Failed []failure
}

type attentionItem struct {
	attention.Item
	EventName string      // a short name of the event
	Sides     []claimBody // the claims concerned, in their current state
	Session   string      // the agent's session
	Who       string      // who caused it; "" if unknown
}

const itemsPerPage = 50

// eventLabels are the names of the events on pages.
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
		if v.r.URL.Query().Has("did") || b.Failed != nil { // the list must reflect the decision
			wait = decisionWait
		}
		items, made, unread, err := v.attentionQueue(b.All, wait)
		if err != nil {
			return err
		}
		b.Computing = !made
		if unread != nil {
			b.Unread = []string{unread.Error()}
		}
		b.Total = len(items)
		for i := range items {
			if items[i].Severity == attention.Warning {
				b.Warnings++
			}
		}
		items = b.ofEvent(items, attention.Event(v.param("event")))
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
			if b.Group != nil { // after a decision the request's path is the form's
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

// ofEvent returns the items of one event. Without an event, it returns the first few items of
// each large group and all others.
func (b *attentionBody) ofEvent(items []attention.Item, event attention.Event) []attention.Item {
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

// attentionItem reads the claims of an item and their evidence. It leaves out claims that were
// forgotten meanwhile.
func (v *visit) attentionItem(s store.Engine, it attention.Item) (attentionItem, error) {
	out := attentionItem{Item: it, EventName: eventLabels[it.Event]}
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

// nameOf returns the display name of an actor.
func nameOf(a ken.Actor) string {
	switch {
	case a.ID == "":
		return a.Type
	case a.Type == "":
		return a.ID
	}
	return a.Type + " " + a.ID
}

// attentionItemBody holds the data of an item's page: what happened, its claims, and which
// turns received them since.
type attentionItemBody struct {
	Now       time.Time
	Item      attentionItem
	Past      []pastEvent // history of all its claims, latest first
	Since     []turnShown // turns that received one of the claims since it happened
	More      int         // turns not listed
	Truncated bool        // more turns may exist, because the search was limited
}

// pastEvent is an entry in the joint history of an item's claims.
type pastEvent struct {
	historyEntry
	Claim  string
	Letter string // the claim's letter, if there are several
	Cause  bool   // the event that caused the item
}

type turnShown struct {
	ledger.Turn
	Claim  string
	Letter string
}

const maxTurnsPerClaim = 200

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
		if !v.principal.Can(access.Operate) { // turns belong to all users' conversations
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

// attentionByID returns the item with this id, dismissed or not. The id includes the item's
// state, so an item that was settled or has changed is not found.
func (v *visit) attentionByID(s store.Engine, id string) (attention.Item, error) {
	for _, wait := range []time.Duration{v.con.opts.Patience, decisionWait} { // the cached queue may not have it yet
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

// Letter returns the letter that identifies the nth of several claims of an item.
func (i attentionItem) Letter(n int) string {
	if len(i.Sides) < 2 {
		return ""
	}
	return string(rune('A' + n))
}

// turnsSince finds the turns that received one of the claims since the event, as far as
// receipts are stored.
func (v *visit) turnsSince(b *attentionItemBody) error {
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	for i := range b.Item.Sides {
		id := b.Item.Sides[i].Claim.ID
		turns, _ := v.con.turns.ShownIn(v.owner(), id, maxTurnsPerClaim)
		n := 0
		for _, t := range turns {
			if !t.At.Before(b.Item.At) {
				b.Since = append(b.Since, turnShown{Turn: t, Claim: id, Letter: b.Item.Letter(i)})
				n++
			}
		}
		b.Truncated = b.Truncated || n == maxTurnsPerClaim
	}
	slices.SortStableFunc(b.Since, func(x, y turnShown) int { return y.At.Compare(x.At) })
	b.More = max(len(b.Since)-maxShown, 0)
	b.Since = b.Since[:len(b.Since)-b.More]
	return nil
}

// TurnCount returns the number of those turns.
func (b attentionItemBody) TurnCount() int { return len(b.Since) + b.More }

// InEveryTurn reports whether the item's claim is part of every turn.
func (i attentionItem) InEveryTurn() bool {
	return len(i.Sides) > 0 && operator.InMemory(i.Sides[0].Claim.Kind)
}

// attentionAction is a decision about items of certain events.
type attentionAction struct {
	did    string            // key of doneMessages
	events []attention.Event // events whose items it settles; nil for all
	do     func(v *visit, s store.Engine, it *attention.Item) error
}

// attentionActions maps the last part of a form's address to its decision. The form does not
// name the claims: the item's id identifies them as the visitor saw them.
var attentionActions = map[string]attentionAction{
	"dismiss": {"dismissed", nil, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Dismiss(v.ctx(), it.ID)
	}},
	"verify": {"verified", []attention.Event{attention.Disputed, attention.Unsure, attention.Superseded}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Vouch(v.ctx(), it.Claims[len(it.Claims)-1], v.formText("note")) // of two claims, the current one
	}},
	"correct": {"replaced", []attention.Event{attention.Disputed, attention.Unsure}, func(v *visit, s store.Engine, it *attention.Item) error {
		text := v.formText("text")
		if text == "" {
			return &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "the new text is missing", Try: "Write what is true instead."}
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

// decideAttention carries out a decision about an item and redirects to the queue.
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
			return &ken.Error{Code: ken.CodeInvalid, Msg: "this decision is not possible for this item", Try: "Choose one of the item's buttons."}
		}
		defer v.con.pending.invalidate(s.Owner())
		return what.do(v, s, &it)
	})
	if err != nil {
		return err
	}
	back := v.returnPath(Prefix + "attention")
	if strings.HasPrefix(back, Prefix+"attention/") { // the item's page no longer exists
		back = Prefix + "attention"
	}
	return v.redirectDone(back, what.did)
}

// resolveContradiction keeps one of two contradicting claims.
func resolveContradiction(v *visit, s store.Engine, it *attention.Item) error {
	for i, id := range it.Claims {
		if id == v.param("claim") {
			return v.desk(s).ResolveContradiction(v.ctx(), id, it.Claims[1-i], operator.Resolution(v.param("fate")))
		}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "claim", Msg: "neither of the two claims", Try: "Choose one of the two claims."}
}

// disputeItem disputes the claim that an agent wants to dispute. For a supersession, it
// disputes the new claim.
func disputeItem(v *visit, s store.Engine, it *attention.Item) error {
	return v.desk(s).Dispute(v.ctx(), it.Claims[len(it.Claims)-1], v.formText("reason"))
}

// writeRefused writes, on the user's word, a claim that an agent was not allowed to write. The
// claim's key prevents a second copy if the form is sent twice.
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

// The list of all events shows only the first few items of a group with more than manyAlike items.
const (
	manyAlike = 10
	fewAlike  = 5
)

// attentionGroup holds the items of the queue that have the same event.
type attentionGroup struct {
	Event     attention.Event
	EventName string
	Count     int
	Hidden    int // items left out of the list of all events
	Path      string
	Here      bool
	Actions   []groupAction // decisions about several items at once
}

// groupAction is a decision about several items of one event.
type groupAction struct{ Name, Says, Key string }

// groupActions lists the decisions that can be made about several items at once. All others are
// made one by one. Every item can be dismissed.
var groupActions = map[attention.Event][]groupAction{
	attention.Unsure: {{"verify", "Verify", "V"}, {"discard", "Discard", "R"}},
	attention.Rule:   {{"approve", "Approve", "V"}, {"discard", "Reject", "R"}},
}

var dismissAction = groupAction{"dismiss", "Dismiss", "H"}

// groupsOf counts the items by event, in the order of the list. here is the event that is shown.
func groupsOf(items []attention.Item, here attention.Event) (out []attentionGroup) {
	for i := range items {
		e := items[i].Event
		at := slices.IndexFunc(out, func(g attentionGroup) bool { return g.Event == e })
		if at < 0 {
			at = len(out)
			out = append(out, attentionGroup{Event: e, EventName: eventLabels[e], Path: Prefix + "attention?event=" + escapeQuery(string(e)), Here: e == here,
				Actions: append(slices.Clone(groupActions[e]), dismissAction)})
		}
		out[at].Count++
	}
	return out
}

// foldGroups leaves out most items of each large group, and records in groups how many.
func foldGroups(items []attention.Item, groups []attentionGroup) []attention.Item {
	seen := map[attention.Event]int{}
	for i := range groups {
		if g := &groups[i]; g.Count > manyAlike {
			g.Hidden = g.Count - fewAlike
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(it attention.Item) bool {
		seen[it.Event]++
		at := slices.IndexFunc(groups, func(g attentionGroup) bool { return g.Event == it.Event })
		return groups[at].Hidden > 0 && seen[it.Event] > fewAlike
	})
}

// errGroup means that a group has changed since the visitor loaded the page.
var errGroup = &ken.Error{Code: ken.CodeExists, Field: "all", Msg: "the group has changed since the page was loaded, so nothing was decided", Try: "Look at the group again."}

// decideGroup carries out one decision about several items of one event: the chosen ones, or all,
// if their number has not changed. Each decision is independent: if some fail, the response is the
// list with the failures.
func decideGroup(v *visit) error {
	event, name := attention.Event(v.param("event")), v.param("what")
	if !slices.ContainsFunc(append(slices.Clone(groupActions[event]), dismissAction), func(a groupAction) bool { return a.Name == name }) {
		return &ken.Error{Code: ken.CodeInvalid, Field: "what", Msg: "this decision can't be made about several items at once", Try: "Decide about each item."}
	}
	back := v.returnPath(Prefix + "attention")
	var b attentionBody
	err := v.withStore(func(s store.Engine) error {
		v.con.pending.invalidate(s.Owner())
		items, _, _, err := v.attentionQueue(false, decisionWait)
		if err != nil {
			return err
		}
		items = slices.DeleteFunc(items, func(it attention.Item) bool { return it.Event != event })
		if all := v.param("all"); all == "" {
			chosen := v.r.PostForm["item"]
			items = slices.DeleteFunc(items, func(it attention.Item) bool { return !slices.Contains(chosen, it.ID) })
		} else if all != strconv.Itoa(len(items)) {
			return errGroup
		}
		defer v.con.pending.invalidate(s.Owner())
		for i := range items {
			switch err := attentionActions[name].do(v, s, &items[i]); {
			case err == nil:
				b.Done++
			case v.ctx().Err() != nil, errors.Is(err, ken.ErrUnavailable): // the others would fail too
				return err
			default:
				p := errorPageOf(err)
				b.Failed = append(b.Failed, failure{items[i].ID, items[i].Text, p.Msg, p.Try})
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(b.Failed) > 0:
		return v.attentionList(&b, http.StatusConflict)
	case b.Done == 0:
		return v.redirectDone(back, "nothing")
	}
	return v.redirectDone(back, "decided")
}
