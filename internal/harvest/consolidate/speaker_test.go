package consolidate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/consolidate"
)

// The name of a speaker before two statements is no word that both say: with it and without, the same is judged to
// be replaced, and a note does not repeat it.
func TestASpeakersNameIsNoPartOfAStatement(t *testing.T) {
	for before, after := range map[string]string{
		"I wanna paint more portraits":                                          "I'm showing my portraits to real people",
		"I won my second chess tournament on Sunday":                            "I went to a chess convention and met people from my town",
		"We met a nice group at the allotment":                                  "I told the group how bees find their way",
		"I know one song on the cello":                                          "Last Monday I taught a song to the kids on a stage",
		"I wanna help the shelter make a difference":                            "I'm giving the cats my time and making a real difference",
		"I love making quilts":                                                  "Making quilts helped me get through the winter and calm down.",
		"The office is in Leith.":                                               "The office is in Perth now.",
		"My sister lives in Graz with her kids.":                                "My sister and her kids moved to Linz.",
		"We track the shop's issues in Jira, and Mira prints them for a round.": "We switched to Linear for the shop's issues, and I'd like the same labels.",
	} {
		judged := func(who string) string {
			st := opened(t)
			write(t, st, said("s1", 0, who+before))
			if _, err := consolidate.Learn(t.Context(), st, said("s2", 7, who+after), nil); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(state(t, st)), "\n")
			for i := range lines {
				lines[i] = strings.TrimPrefix(lines[i], who)
			}
			slices.Sort(lines)
			return strings.Join(lines, "\n")
		}
		want := judged("")
		for _, who := range []string{"Mirela: ", "Tom: "} {
			if got := judged(who); got != want {
				t.Errorf("%s\n%s\nwithout the name:\n%s", who, got, want)
			}
		}
	}
}
