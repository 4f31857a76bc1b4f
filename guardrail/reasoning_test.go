package guardrail

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/race"
)

func TestStripReasoning(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "Deploys run on Tuesday.", "Deploys run on Tuesday."},
		{"white space alone", " \n", " \n"},
		{"think", "<think>hmm</think>Deploys run on Tuesday.", "Deploys run on Tuesday."},
		{"scratch_pad", "A <scratch_pad>hmm</scratch_pad>B", "A B"},
		{"variants", "<thinking>a</thinking>x<scratchpad>b</scratchpad>y<scratch-pad>c</scratch-pad>z", "xyz"},
		{"only reasoning", "<think>a</think>", ""},
		{"only reasoning and space", "\n<think>a</think>\n\n<scratch_pad>b</scratch_pad>\n", ""},
		{"leading space of a block", "<think>a</think>\n\nB", "B"},
		{"space inside stays", "A\n<think>b</think>\nC\n", "A\n\nC\n"},
		{"case", "<ThInK>a</THINK>B", "B"},
		{"attributes", `<think type="deep" depth='3'>a</think>B`, "B"},
		{"attribute holds a tag", `<think a="</think>">x</think>B`, "B"},
		{"space in the tag", "<think >a</think\n>B", "B"},
		{"space before the name", "< think >a< / think >B", "B"},
		{"nested", "<think>a<think>b</think>c</think>D", "D"},
		{"nested names", "<think>a<scratch_pad>b</scratch_pad>c</think>D", "D"},
		{"misnested", "<think>a<scratch_pad>b</think>c</scratch_pad>D", "D"},
		{"misnested and unclosed", "<think>a<scratch_pad>b</think>C", ""},
		{"stray close inside", "<think>a</scratch_pad>b</think>C", "C"},
		{"unclosed", "A <think>b", "A "},
		{"unclosed tag", "A <think b", "A "},
		{"cut off name", "A <think", "A "},
		{"cut off before the name ends", "A <thin", "A <thin"},
		{"lone close", "reasoning</think>\n\nAnswer", "Answer"},
		{"lone close after a block", "a<think>b</think>c</think>D", "D"},
		{"second close ends the thinking", "<think>I close with </think> here</think>D", "D"},
		{"close without its bracket", "<think>a</think\nB", "B"},
		{"close with junk", "<think>a</think foo>B", "B"},
		{"empty element", "A<think/>B<think />C", "ABC"},
		{"empty element with attributes stays open", `A<think a="1"/>B`, "A"},
		{"zero width", "<th\u200bink>a</\u2060think\ufeff>B", "B"},
		{"soft hyphen", "<scr\u00adatch_pad>a</scratch_pad>B", "B"},
		{"full width", "＜think＞a＜／think＞B", "B"},
		{"full width letters", "<ｔｈｉｎｋ>a</ｔｈｉｎｋ>B", "B"},
		{"look-alike letters", "<thіnk>a</think>B", "B"}, // Cyrillic і
		{"entities", "&lt;think&gt;a&lt;/think&gt;B", "B"},
		{"numeric entities", "&#60;think&#x3E;a&#x3c;/think&#62;B", "B"},
		{"JSON escapes", `\u003cthink\u003ea\u003c/think\u003eB`, "B"},
		{"escaped slash", `<think>a<\/think>B`, "B"},
		{"halves of a tag", "<th<think>a</think>ink>secret", "ink>secret"},
		{"halves of a tag, twice", "<<th<think>a</think>think>secret", "think>secret"},
		{"halves of an escape", "&l<think>a</think>t;think>secret", "t;think>secret"},
		{"other words", "<thinker>a</thinker> <rethink>b</rethink> <think-tank>c</think-tank>", "<thinker>a</thinker> <rethink>b</rethink> <think-tank>c</think-tank>"},
		{"comparison", "if a < think && b > c { think(a) }", "if a < think && b > c { think(a) }"},
		{"Mistral", "[THINK]a [b] c[/THINK]B", "B"},
		{"Mistral, unclosed", "A [THINK]b", "A "},
		{"square brackets alone", "[think](x) [Think] [/think] [THINK ] a[THINKER]", "[think](x) [Think] [/think] [THINK ] a[THINKER]"},
		{"Kimi", "◁think▷a◁/think▷B", "B"},
		{"Seed", "<seed:think>a</seed:think>B", "B"},
		{"Seed's like", "<seed:thinking_budget>1</seed:thinking_budget>", "<seed:thinking_budget>1</seed:thinking_budget>"},
		{"other elements", "<output>a</output> <Reasoning>b</Reasoning> List<Analysis> <reasoning_effort>c</reasoning_effort>",
			"<output>a</output> <Reasoning>b</Reasoning> List<Analysis> <reasoning_effort>c</reasoning_effort>"},
		{"thought", "<thought>a</thought>B", "B"},
		{"reasoning", "A <reasoning>b</reasoning>C", "A C"},
		{"reflection, unclosed", "A <reflection>b", "A "},
		{"analysis, lone close", "a</analysis>B", "B"},
		{"escaped", `\u003canalysis\u003ea&lt;/analysis&gt;B`, "B"},
		{"harmony", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>B", "B"},
		{"harmony, no answer", "<|channel|>analysis<|message|>a<|end|>", ""},
		{"harmony, answer alone", "<|channel|>final<|message|>B", "B"},
		{"a mention counts", "Close it with `</think>` and go on.", "` and go on."},
		{"a mention in a fence counts", "A\n```\n<think>\n```\nB", "A\n```\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := StripReasoning(tt.in); got != tt.want {
				t.Errorf("StripReasoning(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestStripReasoningReturnsCleanTextAsIs(t *testing.T) {
	text := strings.Repeat("if a < b { return x[i] & 1 } 漢字〈題〉。\n", 100)
	if n := testing.AllocsPerRun(10, func() { StripReasoning(text) }); n != 0 {
		t.Errorf("%v allocations for text without a tag", n)
	}
}

// hostile is what random texts are made of: everything that a tag can be split at.
var hostile = []string{"<", ">", "/", "think", "th", "ink", "scratch_pad", "scr", "<think>", "</think>", "<think/>",
	"<scratch_pad>", "</scratch_pad>", "&lt;", "&l", "t;", "\\u003c", "\\u0", "03c", "＜", "\xef\xbc", "\x9c", "\u200b",
	" ", "\n", "a", "Answer.", "\"", "<reasoning>", "</reasoning>", "<|channel|>analysis", "<|channel|>final<|message|>", "<|", "</think ", "é", "\u00a0", "[", "&"}

func randomText(r *rand.Rand, pieces []string, n int) string {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestStreamEqualsWholeText(t *testing.T) {
	for seed := range race.Pick[uint64](20000, 1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		checkStream(t, randomText(r, hostile, 14), r)
	}
}

func TestStreamAtEverySplit(t *testing.T) {
	text := "Hi <scr\u200batch_pad a=\"1\">x<think>y</think></scratch_pad> there ＜think＞z＜/think＞&lt;think&gt;q&lt;/think&gt; [THINK]r[a][/THINK]◁think▷s◁/think▷ <reasoning>u</reasoning><|channel|>analysis v<|channel|>final<|message|> [T] é<b> <|end end"
	want := StripReasoning(text)
	for i := range text {
		for j := i; j <= len(text); j++ {
			var s Stream
			if got := s.Write(text[:i]) + s.Write(text[i:j]) + s.Write(text[j:]) + s.Close(); got != want {
				t.Fatalf("split at %d and %d: %q, want %q", i, j, got, want)
			}
		}
	}
}

func TestStreamHoldsBackLittle(t *testing.T) {
	for _, pad := range []string{" ", "\u200b", "&nbsp;"} {
		text := "a<" + strings.Repeat(pad, maxTag) + "think>b"
		var s Stream
		held := 0
		for _, c := range []byte(text) {
			s.Write(string([]byte{c}))
			held = max(held, len(s.pending))
		}
		if held > maxHeld {
			t.Errorf("%d bytes held back for %q", held, pad)
		}
	}
}

func TestStreamHandsOutCleanTextAtOnce(t *testing.T) {
	var s Stream
	if got := s.Write("Deploys run on Tuesday. <th"); got != "Deploys run on Tuesday. " {
		t.Errorf("Write = %q", got)
	}
	if got := s.Write("e>"); got != "<the>" {
		t.Errorf("Write = %q", got)
	}
}

func TestStreamCannotTakeBack(t *testing.T) {
	var s Stream
	got := s.Write("reasoning") + s.Write("</think>Answer") + s.Close()
	if want := "reasoningAnswer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamIsReadyAgainAfterClose(t *testing.T) {
	var s Stream
	s.Write("<think>a")
	s.Close()
	if got := s.Write("B") + s.Close(); got != "B" {
		t.Errorf("got %q, want B", got)
	}
}

// checkStream feeds text in random chunks and byte by byte.
func checkStream(t *testing.T, text string, r *rand.Rand) {
	t.Helper()
	want := StripReasoning(text)
	if hasTag(want) {
		t.Fatalf("StripReasoning(%q) = %q, which holds a tag", text, want)
	}
	for _, size := range []int{1, 1 + r.IntN(5), 1 + r.IntN(40)} {
		var s Stream
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(s.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(s.Close())
		if lone(text) && strings.HasSuffix(got.String(), want) {
			continue
		}
		if got.String() != want {
			t.Fatalf("chunks of %d of %q: %q, want %q", size, text, got.String(), want)
		}
	}
}

// lone reports whether a closing tag turns up that nothing opened.
func lone(text string) bool {
	var sc scanner
	for i := 0; ; {
		b, at, _ := opener(text, i, true)
		if b == 0 {
			return false
		}
		kind, tag, size := lexTag(text[at:], true)
		i = at + size
		switch kind {
		case openTag:
			sc.depth[tag]++
			sc.open++
		case closeTag:
			if sc.open == 0 {
				return true
			}
			if sc.depth[tag] > 0 {
				sc.depth[tag]--
				sc.open--
			}
		}
	}
}

func FuzzStripReasoning(f *testing.F) {
	for _, s := range []string{"<think>a</think>b", "a</think>b", "<th<think>x</think>ink>y", "＜think＞", "&lt;think&gt;", "<think a='b'/>", "\xef\xbc<think>"} {
		f.Add(s, uint64(0))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		got := StripReasoning(text)
		if len(got) > len(text) || StripReasoning(got) != got {
			t.Errorf("StripReasoning(%q) = %q is not stable", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("StripReasoning(%q) broke a character", text)
		}
		if len(text) < maxHeld {
			checkStream(t, text, rand.New(rand.NewPCG(seed, 2)))
		}
	})
}

func ExampleStripReasoning() {
	fmt.Println(StripReasoning("<think>The user wants Tuesday.</think>Deploys run on Tuesdays."))
	fmt.Printf("%q\n", StripReasoning("<scratch_pad>nothing to say"))
	// Output:
	// Deploys run on Tuesdays.
	// ""
}

func ExampleStream() {
	var s Stream
	for _, chunk := range []string{"Ship it <scr", "atch_pad>or not", "?</scratch_", "pad>on Tuesday."} {
		fmt.Printf("%q\n", s.Write(chunk))
	}
	fmt.Printf("%q\n", s.Close())
	// Output:
	// "Ship it "
	// ""
	// ""
	// "on Tuesday."
	// ""
}
