// Package bert runs encoders of the BERT family: it converts the tokens of each text to one
// vector.
//
// [Read] reads a folder in the format of sentence-transformers. The architecture comes from
// config.json, the pooling of token vectors from modules.json and the pooling module's
// config.json, the maximum length from sentence_bert_config.json, and prefixes from the
// prompts in config_sentence_transformers.json. A setting that is not supported is an error
// that names it.
package bert
