// Package table embeds texts in this process with a table of token vectors that Ken
// itself trains (package train), stored in one compact file.
//
// A text's vector is the sum of its tokens' rows, scaled to unit length. A token's
// weight is the length of its row, so there are no separate weights. Words are split as
// in program code: getHTTPServer is get, http, server. A word that is not in the
// vocabulary is split into the longest pieces that are.
//
// A [Vocabulary] splits text into tokens, a [Model] is a vocabulary with its rows and
// implements embed.Embedder, and [New] makes a Model from float rows.
//
// Two limits: the model ignores the order of words, and only scripts whose letters are
// in the vocabulary can be embedded; any other text has a nil vector.
//
// # The file
//
// Little endian throughout; the parts follow each other without gaps.
//
//	offset  bytes    what
//	0       8        "KENTABLE"
//	8       4        version, 1
//	12      4        d, dimensions, 1 to 4096
//	16      4        n, tokens, 1 to 1048576
//	20      4        i, bytes of the information
//	24      4        v, bytes of the vocabulary
//	28      4        CRC-32C of everything from offset 32 on
//	32      8        first 8 bytes of the SHA-256 of everything from offset 40 on
//	40      i        information: one JSON object, see [Info]
//	…       n        length of each token in bytes, 1 to 255
//	…       v        the tokens, UTF-8, one after the other
//	…       4*n      scale of each row, float32, finite, not negative
//	…       d*n      the rows, int8; a number is its value times the row's scale
//
// A token is a word or a piece in lower case. A token that contains a space is a pair
// of neighbouring words, which counts in addition to the two.
package table
