// Package transformer embeds texts in this process with a sentence encoder of the BERT family,
// such as all-MiniLM-L6-v2, bge-small, gte-small or multilingual-e5-small: without a network,
// without cgo, without a server. It knows the order of words and what they mean together, which
// a table (package static) does not, and costs milliseconds a text instead of microseconds.
//
// [Open] reads a folder as Hugging Face's sentence-transformers writes it: config.json,
// tokenizer.json or vocab.txt, model.safetensors, and where there are any modules.json,
// 1_Pooling/config.json, sentence_bert_config.json and config_sentence_transformers.json, whose
// prompts query and passage (or document) are put before questions and before all other texts;
// the E5 models have "query: " and "passage: " without such a file.
//
// Where the result differs from sentence-transformers': vectors have unit length whatever
// modules.json says; a blank text has a nil vector; special tokens written out in a text, such as
// [SEP], are plain text; of a text, the first 64 KiB are read; and a sentencepiece charsmap
// replaces the longest match, as in training, not the shortest of a grapheme cluster.
package transformer
