// Package analysis turns text into index terms. Indexing, queries, the in-memory
// store and the intent analyzer all use the same code, so that a question and a
// text have the same terms.
//
// A [Token] is one term with its position in the text. The tokens of a text are:
//
//   - words, lower case, accents folded, function words left out, stemmed;
//   - identifiers and paths (camelCase, snake_case, kebab-case, dotted, with
//     slashes or digits): the whole, lower case and unstemmed, then its segments
//     and their parts, all at one position;
//   - scripts written without spaces, and Korean: overlapping pairs of characters;
//   - numbers, dates and versions, whole; thousands separators are dropped.
//
// Negation is kept: "not", "no" and "never" are terms, and "don't" gives "not".
// So are "will" and "may", which are also a name and a month.
//
// Caveats. Only English is stemmed and only English has stop words. A term is
// at most [MaxTermBytes] long: a longer word is cut, a longer identifier keeps
// its parts only. Terms may share memory with the text they were read from.
// Changing anything here changes what is on disk: see [Version].
//
// All functions are safe for concurrent use and never fail: bytes that are not
// UTF-8 separate words.
package analysis
