// Package consolidate decides what a newly learned statement means for what is
// known: whether it is new, says the same again, says more, replaces something or
// contradicts it. It also tells what the layer itself put before the model from
// what was learned.
//
// [Compare] judges two statements. Likeness alone decides nothing: two statements
// are one only if their subjects, names, numbers, units, dates, negation, modality
// and quantifiers agree, and one replaces the other only if both speak of the same
// attribute of the same subject. It works by words, without a model: the words are
// aligned, and each place where they differ must be explained by a rule. Whatever
// no rule explains is [Distinct], because losing a fact is worse than keeping two. A
// later session's statement may still replace it: package trained judges that, and the
// known claim then gets a note and stays.
//
// [Plan] turns the judgements about the claims that a store found into one
// [Action], and [Apply] carries it out, in an order that survives being killed
// between any two steps. Running either again changes nothing.
//
// [Echo] recognises the text of injected knowledge and its retellings.
//
// Caveats. The rules about changes, additions and synonyms know English. In other
// languages written with spaces, statements are one when their words are, and
// contradict each other when a negation is all that differs. In scripts written
// without spaces only the exact text is the same. The word lists are short on
// purpose: a word that they lack costs a merge, never a fact.
package consolidate
