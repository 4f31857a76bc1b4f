package budgeter

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// playbookKey is what the key of a playbook starts with; its name follows.
const playbookKey = "playbook:"

// method returns a playbook's text, or as much of its start as fits into so many
// code points with a last line that says where the rest is: nobody should follow
// half a method without knowing that it is half.
func method(it *ken.Item, most int, show string) string {
	text := body(it.Text, most)
	if utf8.RuneCountInString(it.Text) <= most || !strings.HasSuffix(text, ellipsis) {
		return text
	}
	note := "\nThis is the beginning only. Before following it, " + reach(it, show)
	if n := most - utf8.RuneCountInString(note); n > most/2 {
		return body(it.Text, n) + note
	}
	return text
}

// pointer stands for a playbook that has no room.
func pointer(it *ken.Item, show string) string {
	return "This playbook fits the turn, and does not fit here. Before going on, " + reach(it, show)
}

// reach says where all of a playbook is to be had.
func reach(it *ken.Item, show string) string {
	var ways []string
	if it.Source != "" {
		ways = append(ways, "read "+line(it.Source, maxSource))
	}
	if name, ok := strings.CutPrefix(it.Key, playbookKey); ok && show != "" {
		ways = append(ways, "run: "+show+" "+line(name, maxHeading))
	}
	if len(ways) == 0 {
		return "ask for it by its id."
	}
	return strings.Join(ways, ", or ") + "."
}
