package use

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// names holds the names by which items can be cited.
type names struct {
	ids     []string        // letters and digits of the items' ids
	sources []string        // in lower case; "" if the source identifies no item
	used    map[string]bool // short ids that other texts contain
	texts   []string        // of the items, to look for short ids in them
}

// leastID is the minimum length of a short id; see package budgeter.
const leastID = 6

func newNames(items []ken.Item) names {
	n := names{ids: make([]string, len(items)), sources: make([]string, len(items)), used: map[string]bool{}, texts: make([]string, len(items))}
	count := map[string]int{}
	for i := range items {
		n.ids[i] = strings.Map(shown, items[i].ID)
		n.texts[i] = items[i].Heading + "\n" + items[i].Source + "\n" + items[i].Text
		if s := sourceName(items[i].Source); s != "" {
			n.sources[i] = s
			count[s]++
		}
	}
	for i, s := range n.sources {
		if count[s] > 1 || n.inOtherItem(i, s, items) {
			n.sources[i] = ""
		}
	}
	return n
}

// inOtherItem reports whether another item contains a source.
func (n *names) inOtherItem(item int, source string, items []ken.Item) bool {
	if source == "" {
		return false
	}
	for j := range items {
		if j != item && strings.Contains(strings.ToLower(items[j].Heading+"\n"+items[j].Text), source) {
			return true
		}
	}
	return false
}

// sourceName returns the part of a source that identifies it, a path or URL without a line number;
// "" if there is none.
func sourceName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if at := strings.LastIndexByte(s, ':'); at > 0 && strings.Trim(s[at+1:], "0123456789-") == "" {
		s = s[:at]
	}
	if len(s) < 5 || strings.ContainsAny(s, " \t") || !strings.ContainsAny(s, "/.") {
		return ""
	}
	return s
}

// known reads another text that the model read. A source in it identifies no item any more. So does
// an id, unless the model wrote the text itself and may have cited the item.
func (n *names) known(text string, others bool) {
	lower := strings.ToLower(text)
	for i, s := range n.sources {
		if s != "" && strings.Contains(lower, s) {
			n.sources[i] = ""
		}
	}
	if !others || !strings.Contains(lower, "k:") {
		return
	}
	for _, id := range shortIDs(lower) {
		n.used[id] = true
	}
}

func (n *names) cited(text string) (items []int) {
	lower := strings.ToLower(text)
	for _, id := range shortIDs(lower) {
		if n.used[id] {
			continue
		}
		if item := n.find(id); item >= 0 {
			items = append(items, item)
		}
	}
	for i, s := range n.sources {
		if s != "" && strings.Contains(lower, s) {
			items = append(items, i)
		}
	}
	return items
}

// find returns the item with a short id; -1 if there is none, if there are several, or if another
// item's text contains the id.
func (n *names) find(id string) int {
	found := -1
	for i, whole := range n.ids {
		if !strings.HasSuffix(whole, id) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	for i, text := range n.texts {
		if i != found && strings.Contains(strings.ToLower(text), id) {
			return -1
		}
	}
	return found
}

// shortIDs returns the short ids in a text in lower case, in the notation of a block but with or
// without the bracket.
func shortIDs(text string) (ids []string) {
	mark := strings.TrimLeft(guardrail.ItemMark, "[")
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, mark)
		if !ok {
			return ids
		}
		end := strings.IndexFunc(after, func(r rune) bool { return shown(r) != r })
		if end < 0 {
			end = len(after)
		}
		if end >= leastID && (before == "" || shown(rune(before[len(before)-1])) < 0) {
			ids = append(ids, after[:end])
		}
		rest = after[end:]
	}
}

// shown returns the form of a rune in a short id, and -1 if short ids omit it; as in budgeter.
func shown(r rune) rune {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z':
		return r
	case 'A' <= r && r <= 'Z':
		return r | 0x20
	}
	return -1
}
