// Package transformer embeds texts in this process with a sentence encoder of the BERT family,
// such as all-MiniLM-L6-v2, bge-small, gte-small or multilingual-e5-small: without a network,
// without cgo, without a server. Unlike a table (package static), it takes the order and context
// of words into account, and needs milliseconds per text instead of microseconds.
//
// [Open] reads a folder as Hugging Face's sentence-transformers writes it: config.json,
// tokenizer.json or vocab.txt, model.safetensors, and if they exist, modules.json,
// 1_Pooling/config.json, sentence_bert_config.json and config_sentence_transformers.json. The
// prompts query and passage (or document) of the last file are put before questions and before
// all other texts; the E5 models have "query: " and "passage: " without such a file.
//
// Differences from sentence-transformers: vectors have unit length whatever modules.json says; a
// blank text has a nil vector; special tokens written out in a text, such as [SEP], are ordinary
// text; only the first 64 KiB of a text are read; and a sentencepiece charsmap replaces the
// longest match, as in training, instead of the shortest in a grapheme cluster.
package transformer
