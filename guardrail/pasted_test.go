package guardrail

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestStripPastedReasoning(t *testing.T) {
	for _, same := range []string{
		"Deploys run on Tuesday.",
		"Our parser drops everything after <think>.",
		"The <think> tag is never stored, and the port is 8080.",
		"<think> tags are removed before we log.",
		"Close it with </think> and go on.",
		"Put it between <think> and </think>, never outside.",
		"Alles zwischen <think> und </think> fliegt raus.",
		"Remove <scratch_pad>...</scratch_pad> before you save.",
		"Models write `<think>` first. Some answer in between. They end with `</think>`.",
		"Strip “<thinking>” please.",
		"[THINK] is what Mistral writes.",
		"Use <think/> for nothing.",
		"Kimi writes ◁think▷ and we drop it.",
		"We cut at <|channel|>analysis since March.",
	} {
		if got := StripPastedReasoning(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"<think>hmm</think>Deploys run on Tuesday.", "Deploys run on Tuesday."},
		{"It said <scratch_pad> CANARY </scratch_pad> and the port is 8080.", "It said  and the port is 8080."},
		{"A <think>a<think>b</think>c</think>D", "A D"},
		{"Name <think> here: <think>b</think>C", "Name <think> here: C"},
		{"A\n<think>\nb\nc", "A\n"},
		{"<scratch_pad>b", ""},
		{"Payments retry. <THINK>secret plan", "Payments retry. "},
		{"b\nc\n</think>\n\nAnswer", "Answer"},
		{"<th<think>a</think>ink>b</think>C", "C"},
		{"＜think＞a＜／think＞B", "B"},
		{"A `<think>b</think>` C", "A `` C"},
		{"<reasoning>a b</reasoning>C", "C"},
		{"<|channel|>analysis<|message|>a b<|end|><|start|>assistant<|channel|>final<|message|>C", "C"},
	} {
		if got := StripPastedReasoning(tt.in); got != tt.want {
			t.Errorf("StripPastedReasoning(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestStripPastedReasoningEnds(t *testing.T) {
	for seed := range uint64(20000) {
		text := randomText(rand.New(rand.NewPCG(seed, 2)), append(hostile, "`", "<think>b</think>"), 20)
		got := StripPastedReasoning(text)
		if again := StripPastedReasoning(got); again != got {
			t.Fatalf("%q became %q, and then %q", text, got, again)
		}
	}
	deep := strings.Repeat("<th", 1000) + strings.Repeat("<think>a</think>ink>", 1000)
	if got := StripPastedReasoning(deep); len(pasted(got)) > 0 {
		t.Errorf("%d bytes are left", len(got))
	}
}
