// Package forgotten keeps what has to be known of claims that were forgotten, so that
// nothing brings them back: their ids, fingerprints of what they said, and how far the
// erasing has come. It lies on the owner's shelf, beside what it guards, so that a
// transaction that writes a message, an injection or a receipt reads it in the same
// state of the file: In is how it asks.
//
// A fingerprint is a list of keyed hashes of five words in a row (of all words, where a
// text has fewer; a text of one or two has none). It tells a text that is at hand, and
// can't be turned back into words. Who has the store and guesses the whole text can
// confirm the guess: record 0029 says why that is accepted.
//
// The keys, all under "forgotten/":
//
//	forgotten/version       changes with every change of the others
//	forgotten/key           the key of the hashes, 32 random bytes
//	forgotten/id/ID         a claim that is gone
//	forgotten/claim/ID      Record of the claim that somebody asked to forget
//	forgotten/pending/ID    it is not erased everywhere yet
package forgotten
