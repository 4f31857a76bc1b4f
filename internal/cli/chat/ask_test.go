package chat

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
)

func shown(r ken.Receipt, all bool) string {
	var out bytes.Buffer
	a := &commands{&cli.App{Streams: cli.Streams{Out: &out}}}
	a.printReceipt(r, func(id string) string { return "the name of " + id }, all)
	return out.String()
}

func TestPrintReceipt(t *testing.T) {
	got := shown(ken.Receipt{Mode: ken.ModeLate, Cause: "vector: too late", Block: "[Pipeline Knowledge]\n\x1b[31mred\n", Chars: 29, Tokens: 7,
		MS:       map[string]float64{"total": 151.26},
		Degraded: []string{"vector: too late", "pinned: broken"},
		Items: []ken.Item{
			{ID: "0000-12345678", Tier: ken.Verified, Source: "a.go:1", Heading: "h", Chars: 20, Fused: 1,
				Legs: map[string]ken.LegScore{"vector": {Rank: 7}, "keyword": {Rank: 1}}},
			{ID: "short", Tier: ken.Guessed, Text: "two\nlines\x07", Chars: 9, Fused: 0.25, Legs: map[string]ken.LegScore{"pinned": {Rank: 2}}},
		},
		Cut: []ken.Cut{{ID: "c1", Reason: ken.CutFloor}, {ID: "c2", Reason: ken.CutDuplicate, Detail: "0000-12345678"},
			{ID: "c3", Reason: ken.CutBudget, Detail: "too long"}, {ID: "c4", Reason: ken.CutFloor}},
	}, false)
	want := `[Pipeline Knowledge]
[31mred


mode late (vector: too late) · 29 characters · 7 tokens · 151.3 ms
degraded: pinned: broken

ID        TIER      FOUND BY               SCORE  CHARS  SOURCE
12345678  Verified  keyword #1, vector #7  1.000  20     a.go:1
short     Guessed   pinned #2              0.250  9      two lines

cut: 1 budget, 1 duplicate, 2 floor
ID  WHY                    WHAT
c1  floor                  the name of c1
c2  duplicate of 12345678  the name of c2
c3  budget: too long       the name of c3
c4  floor                  the name of c4
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintReceiptWithoutABlock(t *testing.T) {
	for _, tt := range []struct {
		r    ken.Receipt
		want string
	}{
		{ken.Receipt{Mode: ken.ModeKeyword, Cause: "no embedder"},
			"No block: no stored knowledge matches the question.\n\nmode keyword (no embedder) · 0 characters · 0.0 ms\n"},
		{ken.Receipt{Mode: ken.ModeNone, Cause: "the message asks for nothing"},
			"No block: the message asks for nothing.\n\nmode none · 0 characters · 0.0 ms\n"},
		{ken.Receipt{Mode: ken.ModeHybrid, Cut: []ken.Cut{{ID: "c1", Reason: ken.CutFloor}}},
			"No block: no stored knowledge matches the question.\n\nmode hybrid · 0 characters · 0.0 ms\n\ncut: 1 floor\nID  WHY    WHAT\nc1  floor  the name of c1\n"},
		{ken.Receipt{Mode: ken.ModeHybrid, Cut: []ken.Cut{{ID: "c1", Reason: ken.CutFloor}, {ID: "c2", Reason: ken.CutBudget}}},
			"No block: what was found was left out: 1 budget.\n\nmode hybrid · 0 characters · 0.0 ms\n\ncut: 1 budget, 1 floor\nID  WHY     WHAT\nc1  floor   the name of c1\nc2  budget  the name of c2\n"},
	} {
		if diff := cmp.Diff(tt.want, shown(tt.r, false)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPrintReceiptListsSomeCuts(t *testing.T) {
	var r ken.Receipt
	for i := range shownCuts + 2 {
		r.Cut = append(r.Cut, ken.Cut{ID: fmt.Sprintf("id%d", i), Reason: ken.CutPool})
	}
	some, all := shown(r, false), shown(r, true)
	if want := "id9  pool  the name of id9\n… and 2 more: ken ask --all lists them\n"; !bytes.HasSuffix([]byte(some), []byte(want)) {
		t.Errorf("got %s", some)
	}
	if want := "id11  pool  the name of id11\n"; !bytes.HasSuffix([]byte(all), []byte(want)) {
		t.Errorf("got %s", all)
	}
	r.Cut = append(r.Cut, ken.Cut{ID: "late", Reason: ken.CutBudget}) // more telling than weak matches
	if got := shown(r, false); !bytes.Contains([]byte(got), []byte("late  budget")) {
		t.Errorf("got %s", got)
	}
}
