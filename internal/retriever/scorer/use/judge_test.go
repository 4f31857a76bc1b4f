package use_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer/use"
)

// exchange reads a case.
func (c *judgedCase) exchange() use.Exchange {
	x := use.Exchange{Before: []ken.Message{{Role: "user", Text: c.asked}}, Next: c.next}
	for i, s := range c.items {
		source, text, _ := strings.Cut(s, " | ")
		x.Items = append(x.Items, ken.Item{ID: fmt.Sprintf("01956160-0000-7000-8000-00000000aa%02d", i), Kind: ken.KindFact, Source: source, Text: text})
	}
	calls := 0
	for _, s := range c.answer {
		switch kind, text, _ := strings.Cut(s, ": "); kind {
		case "a":
			x.Answer = append(x.Answer, ken.Message{Role: "assistant", Text: text})
		case "result":
			x.Answer = append(x.Answer, ken.Message{Role: "tool", ToolCallID: fmt.Sprint("c", calls), Text: text})
		default:
			calls++
			x.Answer = append(x.Answer, ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: fmt.Sprint("c", calls), Name: strings.TrimPrefix(kind, "call "), Arguments: text}}})
		}
	}
	return x
}

func letters(u ken.Use) (s string) {
	for _, l := range []struct {
		set    bool
		letter string
	}{{u.Cited, "c"}, {u.Repeated, "r"}, {u.ToolOK, "t"}, {u.Corrected, "x"}} {
		if l.set {
			s += l.letter
		}
	}
	return s
}

// hard lists the cases that the rules are known to miss: a use in other words, a
// plain yes, and a use that two items share in part. None is a use that was made up.
var hard = map[string]bool{"paraphrased without its words": true, "both say a part": true, "a yes": true}

// The rules against labels made by hand. What they report as used was used (a wrong
// label teaches the order something false); what they miss is in hard.
func TestUseAgreesWithLabelsMadeByHand(t *testing.T) {
	right, wrong, missed, items := 0, 0, 0, 0
	for i := range judgedCases {
		c := &judgedCases[i]
		got := use.Judge(c.exchange())
		for j, u := range got {
			items++
			want := c.want[j]
			if letters(u) != want && !hard[c.name] {
				t.Errorf("%s, item %d: got %q, want %q", c.name, j, letters(u), want)
			}
			switch labelled := want != ""; {
			case u.Used() && labelled:
				right++
			case u.Used():
				wrong++
			case labelled:
				missed++
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missed)
	t.Logf("%d exchanges, %d items: %d uses found, %d made up, %d missed; precision %.3f, recall %.3f", len(judgedCases), items, right, wrong, missed, precision, recall)
	if len(judgedCases) < 40 || precision < 0.95 || recall < 0.85 {
		t.Errorf("%d cases, precision %.3f, recall %.3f", len(judgedCases), precision, recall)
	}
}

// Where nothing is known of an answer, nothing is said of the items.
func TestNoAnswerIsNoJudgement(t *testing.T) {
	items := []ken.Item{{ID: "a", Text: "Port 8071."}}
	for name, x := range map[string]use.Exchange{
		"none":          {Items: items},
		"an empty one":  {Items: items, Answer: []ken.Message{{Role: "assistant", Text: " \n"}}},
		"only a result": {Items: items, Answer: []ken.Message{{Role: "tool", Text: "Port 8071."}}},
	} {
		if got := use.Judge(x); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := use.Judge(use.Exchange{Answer: []ken.Message{{Role: "assistant", Text: "Hi."}}}); len(got) != 0 {
		t.Errorf("no items: %+v", got)
	}
}

// Ids that end alike are shown longer in a block; a short one that both have is of
// neither.
func TestAnIdThatTwoItemsEndWithIsNeithers(t *testing.T) {
	items := []ken.Item{{ID: "11-22222222-abcdef", Text: "One."}, {ID: "33-44444444-abcdef", Text: "Two."}}
	for text, want := range map[string]string{"See [k:abcdef].": "", "See [k:22abcdef].": "0", "[K:44ABCDEF] and [k:22abcdef]": "01", "key:22abcdef": "", "[k:bcdef]": ""} {
		got := ""
		for i, u := range use.Judge(use.Exchange{Items: items, Answer: []ken.Message{{Role: "assistant", Text: text}}}) {
			if u.Cited {
				got += fmt.Sprint(i)
			}
		}
		if got != want {
			t.Errorf("%s: cites %q, want %q", text, got, want)
		}
	}
}

// Results without ids belong to the calls in their order.
func TestResultsWithoutIds(t *testing.T) {
	x := use.Exchange{Items: []ken.Item{{ID: "a", Text: "Logs are in var/log/ledger.log."}, {ID: "b", Text: "Dumps are in var/dump/core.1234."}},
		Answer: []ken.Message{{Role: "assistant", ToolCalls: []ken.ToolCall{{Arguments: `{"p":"var/log/ledger.log"}`}, {Arguments: `{"p":"var/dump/core.1234"}`}}},
			{Role: "tool", Text: "fine"}, {Role: "tool", Text: "error: not there"}}}
	got := use.Judge(x)
	if !got[0].ToolOK || got[1].ToolOK {
		t.Errorf("%+v", got)
	}
	x.Answer = x.Answer[:1] // no result yet
	if got := use.Judge(x); got[0].ToolOK || got[1].ToolOK {
		t.Errorf("without a result: %+v", got)
	}
}

func FuzzJudge(f *testing.F) {
	for i := range judgedCases {
		c := &judgedCases[i]
		f.Add(c.items[0], c.asked, strings.Join(c.answer, "\n"), c.next)
	}
	f.Add("[k:", "k:k:k:", "[k:000000", "no,")
	f.Fuzz(func(t *testing.T, item, asked, answer, next string) {
		x := use.Exchange{Items: []ken.Item{{ID: "x-000000", Text: item, Source: asked}, {ID: answer, Text: next}},
			Before: []ken.Message{{Role: "user", Text: asked}}, Next: next,
			Answer: []ken.Message{{Role: "assistant", Text: answer, ToolCalls: []ken.ToolCall{{Arguments: next}}}, {Role: "tool", Text: item}}}
		got := use.Judge(x)
		if got == nil {
			t.Fatal("an answer with a call is not judged")
		}
		for i, u := range got {
			if u.ID != x.Items[i].ID || u.Corrected && !u.Used() {
				t.Errorf("%+v", u)
			}
		}
	})
}

// A full block of fifteen items, a conversation of 8 KiB and an answer of 2.
func BenchmarkJudge(b *testing.B) {
	words := strings.Fields("the ledger payments service listens on port and keeps entries for years while staging runs in another region with replicas")
	text := func(n, seed int) string {
		var s strings.Builder
		for i := 0; s.Len() < n; i++ {
			s.WriteString(words[(i*7+seed)%len(words)] + " ")
			if i%11 == seed%11 {
				fmt.Fprintf(&s, "item_%d ", i*13+seed)
			}
		}
		return s.String()
	}
	x := use.Exchange{Answer: []ken.Message{{Role: "assistant", Text: text(2<<10, 3)}}, Before: []ken.Message{{Role: "user", Text: text(8<<10, 5)}}}
	for i := range 15 {
		x.Items = append(x.Items, ken.Item{ID: fmt.Sprintf("0195-%08d", i), Text: text(400, i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		use.Judge(x)
	}
}

func ExampleJudge() {
	uses := use.Judge(use.Exchange{
		Items: []ken.Item{
			{ID: "0195616d-3f9a1c", Text: "The ledger service listens on port 8071."},
			{ID: "0195616d-12ab34", Text: "Invoices are kept for seven years."},
		},
		Before: []ken.Message{{Role: "user", Text: "On which port is the ledger?"}},
		Answer: []ken.Message{{Role: "assistant", Text: "On 8071 [k:3f9a1c]."}},
		Next:   "That's outdated, it moved.",
	})
	for _, u := range uses {
		fmt.Println(u.ID, u.Used(), u.Cited, u.Repeated, u.Corrected)
	}
	// Output:
	// 0195616d-3f9a1c true true true true
	// 0195616d-12ab34 false false false false
}
