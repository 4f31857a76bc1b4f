// Package forgotten stores what must be known about forgotten claims so that nothing
// writes them again: their ids, fingerprints of their texts, and the progress of
// erasing them. It is stored on the owner's shelf. So a transaction that writes a
// message, an injection or a receipt can check it in the same state of the file, with
// In.
//
// A fingerprint is a list of keyed hashes of five consecutive words (of all words, if a
// text has fewer; a text of one or two words has none). It can recognize a given text,
// but can't be turned back into words. Somebody who has the store and guesses the whole
// text can confirm the guess: decision record 0029 says why that is accepted.
//
// The keys, all under "forgotten/":
//
//	forgotten/version       changes with every change of the others
//	forgotten/key           the key of the hashes, 32 random bytes
//	forgotten/id/ID         a claim that is gone
//	forgotten/claim/ID      Record of the claim that somebody asked to forget
//	forgotten/pending/ID    it is not erased everywhere yet
package forgotten
