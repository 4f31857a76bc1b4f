package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// note ends every summary.
const note = "(Extracted by rules, without a model.)"

// Bounds of the summary's parts, in characters.
const (
	maxGoal     = 240
	maxRequest  = 160
	topicsShare = 260
	leastTopics = 120 // are kept free for topics
	saidShare   = 600 // of a conversation
)

// digest is what a summary is written from.
type digest struct {
	tr     *session.Transcript
	all    []speech
	found  []candidate // best first
	people bool
}

// summary writes the episode: what the next session should know first, in at most
// limit characters. What does not fit is left out at the border of a sentence.
func (d *digest) summary(limit int) string {
	if len(d.all) == 0 {
		return ""
	}
	p := page{left: limit - characters(note) - 1}
	p.line(d.heading())
	if d.people {
		d.said(&p, saidShare, nil)
	} else {
		p.left -= leastTopics
		d.asked(&p)
		p.left += leastTopics
	}
	share := topicsShare
	if d.people {
		share = min(p.left-1, 600)
	}
	p.line(topics(d, p.text(), share))
	if p.empty() {
		return ""
	}
	p.lines = append(p.lines, note)
	return strings.Join(p.lines, "\n")
}

// asked writes the sections of a session with an agent.
func (d *digest) asked(p *page) {
	w, end := done(d.tr), stopped(d.all)
	goal := d.goal()
	p.section("Goal: ", "", []string{goal}, maxGoal+10)
	requests := d.requests(goal)
	p.section("Decided: ", " ", d.of(draft.Decision), 380)
	p.section("Instructions and preferences: ", " ", append(d.of(draft.Instruction), d.of(draft.Preference)...), 280)
	p.section("To remember: ", " ", d.explicit(), 220)
	var passed, failing []string
	for _, c := range w.commands {
		switch {
		case c.failed && c.error != "":
			failing = append(failing, "`"+c.line+"`: "+c.error)
		case c.failed:
			failing = append(failing, "`"+c.line+"`")
		case c.seen:
			passed = append(passed, "`"+c.line+"`")
		}
	}
	p.section("Failing: ", "; ", failing, 260)
	var open []string
	if end.unanswered != "" {
		open = append(open, end.unanswered)
	}
	p.section("Open: ", "; ", append(open, end.open...), 260)
	if end.last != "" {
		p.section("Where it stopped: ", "", []string{end.last}, 180)
	}
	p.section("Candidate rules: ", " ", d.of(draft.Constraint), 160)
	p.section("Changed: ", ", ", w.files, 220)
	p.section("Passed: ", ", ", passed, 180)
	room := p.left - topicsShare
	d.said(p, room*3/5, []draft.Sort{draft.Fact})
	p.section("Also asked: ", " ", requests, p.left-topicsShare)
}

// heading says who, and when.
func (d *digest) heading() string {
	var who []string
	for i := range d.all {
		if n := d.all[i].name; n != "" && !slices.Contains(who, n) && len(who) < 4 {
			who = append(who, n)
		}
	}
	line := "Session"
	if len(who) > 0 {
		line = "Conversation of " + strings.Join(who, " and ")
	}
	first, last := d.all[0].entry.At, d.all[len(d.all)-1].entry.At
	if first.IsZero() {
		return line + "."
	}
	line += ", " + day(first)
	if !last.IsZero() && last.After(first) && day(last) != day(first) {
		line += " to " + day(last)
	}
	return line + "."
}

// of are the candidates of a sort, in the order in which they were said.
func (d *digest) of(sort draft.Sort) []string {
	return d.those(func(k *candidate) bool { return k.sort == sort })
}

// explicit are the facts that the user asked to be remembered.
func (d *digest) explicit() []string {
	return d.those(func(k *candidate) bool { return k.explicit && k.sort == draft.Fact })
}

func (d *digest) those(which func(*candidate) bool) []string {
	var list []*candidate
	for i := range d.found {
		if k := &d.found[i]; which(k) && len(list) < 8 {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return a.order - b.order })
	var out []string
	for _, k := range list {
		text := capital(k.dated())
		if !k.from.person {
			text = "(proposed by the assistant) " + text
		}
		out = append(out, text)
	}
	return out
}

// said writes what was said that is most worth knowing, in its order, within room
// characters. sorts restricts it; nil takes all.
func (d *digest) said(p *page, room int, sorts []draft.Sort) {
	room = min(room, p.left)
	held := p.text()
	var list []*candidate
	for i := range d.found {
		k := &d.found[i]
		if sorts != nil && !slices.Contains(sorts, k.sort) || strings.Contains(held, k.text) {
			continue
		}
		if n := characters(k.attributed(1<<20)) + 1; n <= room {
			list = append(list, k)
			room -= n
		}
		if room < 40 {
			break
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return a.order - b.order })
	for _, k := range list {
		p.line(k.attributed(1 << 20))
	}
}

// Tells reports whether an episode's summary tells everything that another one does. Of a
// summary by rules, what every session has does not count: its date, its goal, how it
// ended, what was only asked, and its topics. One by a model tells what it says word for
// word.
func Tells(summary, other string) bool {
	if !strings.HasSuffix(other, note) {
		return summary == other
	}
	have := map[string]bool{}
	for line := range strings.Lines(summary) {
		have[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(other) {
		line = strings.TrimSpace(line)
		if !have[line] && !slices.ContainsFunc(asides, func(a string) bool { return strings.HasPrefix(line, a) }) {
			return false
		}
	}
	return true
}

// asides begin the lines of a summary that tell nothing that was decided, done or found.
var asides = []string{"Session", "Conversation of ", "Goal: ", "Open: ", "Where it stopped: ", "Also asked: ", "Topics: ", note}
