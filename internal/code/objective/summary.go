package objective

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Limits of a summary for each objective.
const (
	summaryTitle = 120 // characters
	summaryTask  = 100
	shownDone    = 3 // number of done tasks shown, the latest first
	shownNext    = 5
)

// Summary returns a text of at most maxChars characters (Unicode code points) about the active objectives: their
// progress, the last done tasks, and the next tasks. It is meant for the pinned part of a prompt and for the summary of
// a truncated conversation. Objectives keep the given order; those that do not fit are counted. The text is empty if
// there is no active objective, or if even the first title does not fit. It depends only on the objectives.
func Summary(objectives []Objective, maxChars int) string {
	active := slices.DeleteFunc(slices.Clone(objectives), func(o Objective) bool { return o.Status != Active })
	if len(active) == 0 {
		return ""
	}
	// First come all titles, then the next tasks, then the done ones, round by round. So no objective is left out
	// because of the details of an earlier one.
	parts := make([][3]string, len(active))
	used := utf8.RuneCountInString(heading)
	titles := 0
	for i, o := range active {
		title := titleLine(&o)
		rest := 0
		if i+1 < len(active) {
			rest = utf8.RuneCountInString(moreLine(len(active) - i - 1))
		}
		n := utf8.RuneCountInString(title)
		if used+n+rest > maxChars {
			break
		}
		parts[i][0] = title
		used += n
		titles++
	}
	if titles == 0 {
		return ""
	}
	tail := ""
	if titles < len(active) {
		tail = moreLine(len(active) - titles)
		used += utf8.RuneCountInString(tail)
	}
	for round, of := range []func(*Objective) []string{remaining, recentlyDone} {
		for i := range active[:titles] {
			label := []string{"  next: ", "  done: "}[round]
			if l := fitItems(label, of(&active[i]), maxChars-used); l != "" {
				parts[i][2-round] = l
				used += utf8.RuneCountInString(l)
			}
		}
	}
	var b strings.Builder
	b.WriteString(heading)
	for _, p := range parts {
		b.WriteString(p[0] + p[1] + p[2])
	}
	b.WriteString(tail)
	return strings.TrimRight(b.String(), "\n")
}

const heading = "Objectives (active):\n"

func moreLine(n int) string { return fmt.Sprintf("and %d more\n", n) }

func titleLine(o *Objective) string {
	l := "- " + promptLine(o.ID, 40) + " " + promptLine(o.Title, summaryTitle)
	if p := o.Progress(); p.Total > 0 {
		l += " (" + p.String() + " tasks done)"
	}
	return l + "\n"
}

// remaining returns the next tasks, and the number of further ones.
func remaining(o *Objective) (out []string) {
	open := slices.DeleteFunc(slices.Clone(o.Tasks), func(t Task) bool { return t.Done })
	for _, t := range open[:min(len(open), shownNext)] {
		out = append(out, promptLine(t.Text, summaryTask))
	}
	if more := len(open) - shownNext; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}

// recentlyDone returns the tasks that were done last, the latest first.
func recentlyDone(o *Objective) (out []string) {
	done := slices.DeleteFunc(slices.Clone(o.Tasks), func(t Task) bool { return !t.Done })
	slices.Reverse(done)
	slices.SortStableFunc(done, func(a, b Task) int { return b.DoneAt.Compare(a.DoneAt) })
	for _, t := range done[:min(len(done), shownDone)] {
		out = append(out, promptLine(t.Text, summaryTask))
	}
	return out
}

// fitItems returns a line with as many items as fit.
func fitItems(label string, items []string, room int) string {
	l := ""
	for i := range items {
		next := label + strings.Join(items[:i+1], "; ") + "\n"
		if utf8.RuneCountInString(next) > room {
			break
		}
		l = next
	}
	return l
}

// promptLine makes a text safe for a prompt: one line, bounded, without anything that could close the surrounding
// frame.
func promptLine(s string, most int) string {
	return analysis.Clip(oneLine(guardrail.Neutralize(clean.Text(s))), most)
}
