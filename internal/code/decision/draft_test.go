package decision

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// A draft is read back unchanged, with any markup in it.
func TestCreateReadsBack(t *testing.T) {
	words := []string{"plain", "`code.Name`", "**bold**", "a: b", "# x", "## Decision", "- item", "\n", "\n\n", "| a | b |\n|---|---|\n", "```\n", "Status: accepted", "[x](y.md)", "===", "---", "1. one", "ADR-0007",
		"<tag>", "'q'", "\"", "\\", "ü", "\t", "~~~", "> quote", "Good, because", "### Consequences", "&amp;"}
	rng := rand.New(rand.NewPCG(seed.Of(t), 1))
	text := func(most int) string {
		var b strings.Builder
		for range 1 + rng.IntN(most) {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return strings.TrimSpace(b.String())
	}
	line := func() string {
		return strings.Trim(oneLine(strings.NewReplacer("#", "", "|", "", "`", "", "*", "", "~", "", "[", "", "]", "").Replace(text(4))), " -=>:.\"\\")
	}
	done := 0
	for range race.Pick(800, 150) {
		d := Draft{Title: line(), Status: Statuses()[rng.IntN(4)], Date: today(), Context: text(20), Decision: text(20), Consequences: text(20), Confirmation: text(5), More: text(5),
			Tags: []string{line() + "x", "t"}, Deciders: []string{"d" + line()}, Drivers: []string{"e" + line()}, Options: []Alternative{{Title: "o1 " + line(), Text: text(5), Chosen: true}, {Title: "p2 " + line()}}}
		if n, _ := fromTitle(d.Title); n >= 0 || d.validate() != nil || stripMarkup(d.Title) != d.Title {
			continue
		}
		src := d.render("ADR-0001")
		r, problems := Parse("adr/0001-x.md", src)
		for name, pair := range map[string][2]string{"title": {d.Title, r.Title.Text}, "status": {string(d.Status), string(r.Status)}, "context": {embed(d.Context), r.Context.Text}, "decision": {embed(d.Decision), r.Decision.Text},
			"consequences": {embed(d.Consequences), r.Consequences.Text}, "confirmation": {embed(d.Confirmation), r.Confirmation.Text}, "more": {embed(d.More), r.More.Text},
			"tags": {strings.Join(d.Tags, "\n"), strings.Join(texts(r.Tags), "\n")}, "deciders": {d.Deciders[0], strings.Join(texts(r.Deciders), "\n")}} {
			if strings.TrimSpace(pair[0]) != strings.TrimSpace(pair[1]) {
				t.Fatalf("%s: %q became %q in\n%s", name, pair[0], pair[1], src)
			}
		}
		if len(r.Options) != 2 || !r.Options[0].Chosen || len(problems) > 0 {
			t.Fatalf("%+v %v in\n%s", r.Options, problems, src)
		}
		done++
	}
	if done < race.Pick(200, 40) {
		t.Error("only", done)
	}
}
