// Package reading analyses a claim's text by rules: what it is about, under which
// aspect, whether it sets a rule, and how things that it names depend on each other.
// No model is involved, so that every claim has its place in the structure as soon as
// it is written.
//
//	never deploy the payments service on Fridays; it depends on the ledger
//
// is about payments, mentions the ledger, is a constraint under deployment, and says
// that payments requires ledger.
//
// # What it is about
//
// The subject of the first sentence decides. It is the speaker ("Ana: I moved to Lyon"
// is about ana), a name, or the head of the noun phrase. In an order, the object
// decides ("never deploy payments"). Names that the claim came with are ordered in the
// same way: one that the text is about comes first. If there is none, the text's own
// subject comes first, as far as it has one.
//
// Names are: those that records have already, in singular or plural; identifiers;
// paths; noun phrases with a head that tells the type ("the payments service" is
// payments, a system); products; and words with a capital inside a sentence. In places
// where only a name can be, any noun is one: on both sides of "depends on", "uses" and
// similar phrases, and as what a rule is made for ("a booking must not …"). A noun
// that is usual in texts ("search", "cache") is a name elsewhere only if records have
// it. A common one ([Common]) is a name only if it is written as one: as code, with a
// capital inside a sentence, or before such a head. The modifier of a compound
// ("invoice numbers") is named too, and is what the text is about if it is known. A
// known thing that has the same name as the file in the evidence is named. That file
// itself and the claim's project are used last, with a low confidence.
//
// # Rules, and what looks like one
//
// Modal verbs and prohibitions make a constraint if they set a rule. They do not if
// they guess ("it must have been the cache"), report ("I never went"), ask, are
// quoted, or are about a person's life. Text from an external source is never a
// constraint, and neither is a text of more than 600 bytes: that is a document with
// rules in it.
//
// # Limits
//
// The grammar consists of word lists and word order. English is covered fully; in
// German, French and Spanish only the common forms of must, must not, always and never
// are. Irony, and conditions over several sentences, are not recognised. All functions
// are pure and safe for concurrent use. They never fail, and read at most [MaxBytes]
// of a text.
package reading
