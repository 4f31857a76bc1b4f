// Package consolidate decides what a newly learned statement means for the known
// claims: whether it is new, repeats a claim, says more, replaces or contradicts it.
// It also recognises injected knowledge among what was learned.
//
// [Compare] judges two statements. Similarity alone decides nothing. Two statements
// are the same only if subjects, names, numbers, units, dates, negation, modality and
// quantifiers agree. One replaces the other only if both are about the same attribute
// of the same subject. Compare works on words, without a model: it aligns them, and a
// rule must explain each place where they differ. Without such a rule the result is
// [Distinct], because losing a fact is worse than keeping two. A statement of a later
// session may still replace it: package trained judges that, and the known claim then
// gets a note and is kept.
//
// [Plan] turns the judgements about the claims that a store found into one [Action],
// and [Apply] carries it out. Its order of writes is safe if the process is killed
// between two of them. Running either again changes nothing.
//
// [Echo] recognises the text of injected knowledge, also in other words.
//
// Caveats. The rules about changes, additions and synonyms know English only, except
// those about where people live and work. In other languages with spaces between words,
// statements are the same if their words are, and contradict each other if only a
// negation differs. In scripts without spaces, only equal text is the same. The word
// lists are short on purpose: a missing word prevents a merge, but never loses a fact.
package consolidate
