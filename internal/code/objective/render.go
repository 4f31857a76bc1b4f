package objective

import (
	"strings"
	"time"
	"unicode"

	"github.com/kenlayer/ken/internal/plainyaml"
)

// order is the order of the keys in a new file.
var order = []string{"id", "title", "status", "created", "updated", "owner", "tags", "links", "tasks", "description"}

// render returns the content of a new file.
func render(o *Objective) []byte {
	var b strings.Builder
	for _, k := range order {
		b.WriteString(keyLines(o, k))
	}
	return []byte(b.String())
}

// keyLines returns the lines of one key; "" if it has no value.
func keyLines(o *Objective, k string) string {
	switch k {
	case "id":
		return line("id", o.ID)
	case "title":
		return line("title", plainyaml.Quote(o.Title))
	case "status":
		return line("status", string(o.Status))
	case "created":
		return line("created", formatTime(o.Created))
	case "updated":
		return line("updated", formatTime(o.Updated))
	case "owner":
		if o.Owner != "" {
			return line("owner", plainyaml.Quote(o.Owner))
		}
	case "tags":
		return list("tags", o.Tags)
	case "links":
		if in := indented(list("decisions", o.Decisions) + list("sessions", o.Sessions)); in != "" {
			return "links:\n" + in
		}
	case "tasks":
		if len(o.Tasks) == 0 {
			return "tasks: []\n"
		}
		var b strings.Builder
		b.WriteString("tasks:\n")
		for _, t := range o.Tasks {
			b.WriteString(item(t, "  "))
		}
		return b.String()
	case "description":
		return description(o.Description)
	}
	return ""
}

func line(k, v string) string {
	if v == "" {
		return ""
	}
	return k + ": " + v + "\n"
}

func list(k string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	q := make([]string, len(items))
	for i, s := range items {
		q[i] = plainyaml.Quote(s)
	}
	return k + ": [" + strings.Join(q, ", ") + "]\n"
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// item returns the lines of one task.
func item(t Task, indent string) string {
	lines := append([]string{"- text: " + plainyaml.Quote(t.Text)}, doneLines(t)...)
	return indent + strings.Join(lines, "\n"+indent+"  ") + "\n"
}

// doneLines returns the lines of a task after its text.
func doneLines(t Task) (out []string) {
	add := func(k, v string) {
		if v != "" {
			out = append(out, k+": "+v)
		}
	}
	if t.Done {
		add("done", "true")
	}
	add("done_at", formatTime(t.DoneAt))
	if t.By != "" {
		add("by", plainyaml.Quote(t.By))
	}
	if t.Claim != "" {
		add("claim", plainyaml.Quote(t.Claim))
	}
	return out
}

func indented(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("  " + l)
	}
	return b.String()
}

// description returns a text as a block, or in quotes if a block can't represent it.
func description(text string) string {
	if text == "" {
		return ""
	}
	odd := strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || strings.HasPrefix(text, " ")
	for l := range strings.Lines(text) {
		odd = odd || strings.TrimRight(l, "\n") != strings.TrimRight(l, " \n")
	}
	if odd {
		return "description: " + plainyaml.Quote(text) + "\n"
	}
	var b strings.Builder
	b.WriteString("description: |\n")
	for l := range strings.SplitSeq(text, "\n") {
		if l != "" {
			b.WriteString("  " + l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
