package budgeter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
)

// remembered is a block's items as a receipt keeps them, with the claims they are of.
// seen says that a journal has the texts as well.
func remembered(b *Block, list []Candidate, seen bool) []Kept {
	var out []Kept
	for _, it := range b.Items {
		k := Kept{Item: it}
		for i := range list {
			if list[i].Item.ID != it.ID {
				continue
			}
			c := ken.Claim{Text: list[i].Item.Text, Heading: list[i].Item.Heading, Source: list[i].Item.Source, Key: list[i].Item.Key}
			if list[i].Load != nil {
				c, _ = list[i].Load(context.Background())
			}
			k.Claim = &c
			break
		}
		if seen {
			k.Texts = []string{"something else, said before", it.Text}
		}
		k.Item.Key, k.Item.Source, k.Item.Heading, k.Item.Text = "", "", "", ""
		out = append(out, k)
	}
	return out
}

// Whatever a block was made of, it can be written again from its receipt: from the
// claims alone, and with what the journal saw.
func TestRewriteRandomBlocks(t *testing.T) {
	for seed := range race.Pick[uint64](4000, 400) {
		r := rand.New(rand.NewPCG(seed, 7))
		list := randomCandidates(r)
		ids := map[string]bool{}
		kept := list[:0]
		for _, c := range list { // two texts under one id are two versions of a claim: see TestRewriteTellsVersionsApart
			if !ids[c.Item.ID] {
				kept = append(kept, c)
			}
			ids[c.Item.ID] = true
		}
		list = kept
		o := Options{Chars: 100 + r.IntN(2000), MemoryChars: r.IntN(800) - 100, MaxItemChars: 1 + r.IntN(400),
			PlaybookChars: r.IntN(600), Show: []string{"", "show"}[r.IntN(2)]}
		b := Compose(context.Background(), list, o)
		for _, seen := range []bool{false, true} {
			k := remembered(&b, list, seen)
			if !seen { // a checkpoint is shortened to what room there was, which no receipt says
				for i := range k {
					if isCheckpoint(&k[i].Item, k[i].Item.Memory) {
						k[i].Texts = []string{b.Items[i].Text}
					}
				}
			}
			got := Rewrite(k, b.OverflowedConstraints, b.Chars, o, func(s string) bool { return s == b.Text })
			if len(got.Missing) > 0 || got.Text != b.Text || got.Proved != (b.Text != "") {
				t.Fatalf("seed %d, seen %v: missing %v, proved %v\n%s\nwant\n%s", seed, seen, got.Missing, got.Proved, got.Text, b.Text)
			}
		}
	}
}

// Of two texts of the same length, the proof tells which it was; without one it is the
// first.
func TestRewriteTellsVersionsApart(t *testing.T) {
	b := compose(Options{}, Candidate{Item: item(1, "The port is 9090.")}, Candidate{Item: item(2, "Deploys run on Tuesday.")})
	kept := []Kept{{Item: b.Items[0], Texts: []string{"The port is 8080.", "The port is 9090."}}, {Item: b.Items[1], Texts: []string{b.Items[1].Text}}}
	for i := range kept {
		kept[i].Item.Text = ""
	}
	if got := Rewrite(kept, 0, b.Chars, Options{}, func(s string) bool { return s == b.Text }); !got.Proved || got.Text != b.Text {
		t.Errorf("%+v", got)
	}
	none := func(string) bool { return false }
	if got := Rewrite(kept, 0, b.Chars, Options{}, none); got.Proved || got.Text == "" || got.Text == b.Text {
		t.Errorf("%+v", got)
	}
	kept[0].Texts = []string{"The port is a secret of the house."}
	got := Rewrite(kept, 0, b.Chars, Options{}, none)
	if fmt.Sprint(got.Missing) != "[0]" || got.Text != compose(Options{}, Candidate{Item: item(2, "Deploys run on Tuesday.")}).Text {
		t.Errorf("%+v", got)
	}
	if got := Rewrite(nil, 0, 0, Options{}, none); got.Text != "" {
		t.Errorf("of nothing: %+v", got)
	}
}

// However many texts an item may have had, only so many blocks are tried.
func TestRewriteGivesUp(t *testing.T) {
	var kept []Kept
	for i := range 12 {
		it := item(i, "x1")
		it.Chars = compose(Options{}, Candidate{Item: it}).Items[0].Chars
		it.Text = ""
		kept = append(kept, Kept{Item: it, Texts: []string{"x1", "x2", "x3"}})
	}
	tries := 0
	Rewrite(kept, 0, 1000, Options{}, func(string) bool { tries++; return false })
	if tries != maxTries {
		t.Errorf("%d tries", tries)
	}
}
