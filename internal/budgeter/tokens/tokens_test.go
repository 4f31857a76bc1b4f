package tokens

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestEncoding(t *testing.T) {
	for model, want := range map[string]string{
		"": "o200k_base", "gpt-4o": "o200k_base", "gpt-4o-mini": "o200k_base", "gpt-4.1-nano": "o200k_base",
		"gpt-4": "cl100k_base", "gpt-4-0613": "cl100k_base", "gpt-3.5-turbo-16k": "cl100k_base",
		"p50k_base": "p50k_base", "r50k_base": "r50k_base", "cl100k_base": "cl100k_base",
		"claude-sonnet": "o200k_base", "gpt2": "o200k_base",
	} {
		if got := encodingOf(model); got != want {
			t.Errorf("Encoding(%q) = %s, want %s", model, got, want)
		}
	}
}

// The numbers are those of OpenAI's own tokenizer.
func TestCounter(t *testing.T) {
	for _, tt := range []struct {
		encoding, text string
		want           int
	}{
		{"cl100k_base", "hello world", 2},
		{"cl100k_base", "tiktoken is great!", 6},
		{"o200k_base", "hello world", 2},
		{"o200k_base", "", 0},
		{"o200k_base", strings.Repeat("hello ", 100), 101},
	} {
		count, err := Counter(tt.encoding)
		if err != nil {
			t.Fatal(err)
		}
		if got := count(tt.text); got != tt.want {
			t.Errorf("%s: %q has %d tokens, want %d", tt.encoding, tt.text, got, tt.want)
		}
	}
}

func TestControlTokensCountAsText(t *testing.T) {
	count, err := Counter("")
	if err != nil {
		t.Fatal(err)
	}
	if got := count("<|endoftext|>"); got < 3 {
		t.Errorf("%d tokens: the text was taken for a control token", got)
	}
}

func TestCounterIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			count, err := Counter("gpt-4o")
			if err != nil || count("部署在星期二 runs on Tuesday") == 0 {
				t.Error("no count:", err)
			}
		})
	}
	wg.Wait()
}

func BenchmarkCounter(b *testing.B) {
	count, err := Counter("")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("A session is stored as facts and a summary, never as raw turns. ", 10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		count(text)
	}
}

func ExampleCounter() {
	count, err := Counter("gpt-4o")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(count("hello world"))
	// Output: 2
}
