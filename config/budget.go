package config

// Encoding names the tokenizer that tokens are counted with.
type Encoding string

// Encodings.
const (
	EncodingO200K  Encoding = "o200k_base"
	EncodingCL100K Encoding = "cl100k_base"
	EncodingP50K   Encoding = "p50k_base"
	EncodingR50K   Encoding = "r50k_base"
)

// Budget bounds the block. Characters are Unicode code points.
type Budget struct {
	Chars       int      // of the whole block with its frame
	MemoryChars int      // of pinned items and sessions; 0 leaves them out
	Tokens      int      // of the whole block; 0 sets no limit
	ItemChars   int      // of one item
	Encoding    Encoding // that Tokens is counted in
}

func (b *Budget) keys() []key {
	return []key{
		bind("chars", &b.Chars, 6000, whole(500, 1_000_000), "Characters of the whole block, its frame included."),
		bind("memory_chars", &b.MemoryChars, 8000, whole(0, 1_000_000),
			"Characters for what always surfaces, which has a budget of its own. 0 leaves it out."),
		bind("tokens", &b.Tokens, 0, whole(0, 1_000_000),
			"Tokens of the whole block, on top of the limit in characters. 0: no such limit."),
		bind("item_chars", &b.ItemChars, 1500, whole(100, 1_000_000),
			"Characters of one item; longer ones are shortened."),
		bind("encoding", &b.Encoding, EncodingO200K, choice(EncodingO200K, EncodingCL100K, EncodingP50K, EncodingR50K),
			"The tokenizer that counts tokens: o200k_base for gpt-4o and later, cl100k_base for gpt-4 and gpt-3.5."),
	}
}
