// Package bert runs encoders of the BERT family: tokens in, one vector a text out.
//
// [Read] takes a folder as sentence-transformers writes it. The architecture comes from
// config.json, how token vectors become one from modules.json and the pooling module's
// config.json, the longest text from sentence_bert_config.json, prefixes from the prompts in
// config_sentence_transformers.json. A part that would be computed wrongly is refused by name.
package bert
