// Package knownitem makes questions from a collection's own records, for known-item search without
// labels. Each question is made from one claim, by a rule that imitates how people ask, and that
// claim is the expected result. The questions show how well search works on an unlabelled
// collection. Calibration, ken doctor and the generation of question sets use them.
//
// The kinds of question:
//
//   - keyword: a few of the claim's most distinctive words, in another order;
//   - heading: a text about the claim that somebody else wrote (its heading, doc comment or
//     commit subject), searched for in the rest of the claim;
//   - question: one of its sentences turned into a question;
//   - paraphrase: a sentence with some words left out, inflected or replaced by synonyms, so
//     that its words differ and vectors become useful;
//   - absent: about names and things that the collection does not have;
//   - small_talk: phrases that need no knowledge.
//
// The last two have no answer. A heading question must not find its own copy, so it is searched for
// in what [Question.Mask] leaves of the claim.
//
// This measures the search for a record that the asker knows to exist. The questions share more
// words with their claims than people's questions do, and another claim may answer as well as the
// expected one. So the figures can compare settings on one collection, but they are not the recall
// that users get.
//
// The same claims, in any order, and the same seed give the same questions. All functions are safe
// for concurrent use.
package knownitem
