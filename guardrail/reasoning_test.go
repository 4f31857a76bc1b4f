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
		{"tokens of a thought", "<|begin_of_thought|>a<|end_of_thought|>B", "B"},
		{"Cohere", "<|START_THINKING|>a<|END_THINKING|>B", "B"},
		{"Cohere, unclosed", "A <|START_THINKING|>b", "A "},
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
		{"Gemma", "<|channel>thought\na\n<channel|>B", "B"},
		{"Gemma, unclosed", "A <|channel>thought\nb", "A "},
		{"Gemma for medicine", "<unused94>thought\na<unused95>B", "B"},
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

func TestStripReasoningLeavesNoTag(t *testing.T) {
	for seed := range race.Pick[uint64](20000, 1000) {
		text := randomText(rand.New(rand.NewPCG(seed, 1)), hostile, 14)
		if got := StripReasoning(text); hasTag(got) {
			t.Fatalf("StripReasoning(%q) = %q, which holds a tag", text, got)
		}
	}
}

func FuzzStripReasoning(f *testing.F) {
	for _, s := range []string{"<think>a</think>b", "a</think>b", "<th<think>x</think>ink>y", "＜think＞", "&lt;think&gt;", "<think a='b'/>", "\xef\xbc<think>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := StripReasoning(text)
		if len(got) > len(text) || StripReasoning(got) != got {
			t.Errorf("StripReasoning(%q) = %q is not stable", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("StripReasoning(%q) broke a character", text)
		}
		if hasTag(got) {
			t.Errorf("StripReasoning(%q) = %q, which holds a tag", text, got)
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
