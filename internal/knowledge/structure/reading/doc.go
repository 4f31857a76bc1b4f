// Package reading reads a claim's text by rules: what it is about, under which
// aspect, whether it sets a rule, and how one thing it names depends on another. No
// model is asked, so that every claim has its place in the structure the moment it
// is written.
//
//	never deploy the payments service on Fridays; it depends on the ledger
//
// is about payments, mentions the ledger, is a constraint under deployment, and says
// that payments requires ledger.
//
// # What it is about
//
// The subject of the first sentence decides: who speaks ("Ana: I moved to Lyon" is
// about ana), a name, or the head of the noun phrase; in an order the object does
// ("never deploy payments"). Names that a claim came with are ordered by the same
// measure: one that the text is about goes first, and otherwise what the text is
// about, as far as it says so.
//
// Names are those that records carry already, in either number, identifiers, paths,
// noun phrases with a head that tells the type ("the payments service" is payments, a
// system), products, and what has a capital inside a sentence. Where only a name can
// stand, anything is one: on both sides of "depends on", "uses" and the like, and as
// what a rule is made for ("a booking must not …"). A noun that is usual in texts
// ("search", "cache") is a name elsewhere only when it is known, and one that is
// common ([Common]) only where it is written as a name: as code, with a capital inside
// a sentence, or before such a head. Of a compound ("invoice numbers") the modifier is
// named too, and is what the text is about when it is known. A known thing that the
// evidence's file is called after is named; that file itself and the claim's project
// are the last resort, with a low confidence.
//
// # Rules, and what looks like one
//
// Modal verbs and prohibitions make a constraint when they regulate. They do not
// when they guess ("it must have been the cache"), report ("I never went"), ask, are
// quoted, or speak of a person's life. What an external source says is none at all,
// and neither is a text of more than 600 bytes: that is a document with rules in it.
//
// # Limits
//
// The grammar is word lists and word order. English is read fully, of German, French
// and Spanish only the common forms of must, must not, always and never. Irony, and
// conditions spread over several sentences, are read at their word. All functions
// are pure and safe for concurrent use; they never fail, and read at most [MaxBytes]
// of a text.
package reading
