package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

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
