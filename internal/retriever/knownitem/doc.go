// Package knownitem makes questions out of a collection's own records: known-item
// search without labels. Each question is made of one claim by a rule that mimics
// how people ask, and that claim is the one to find. They tell how well search
// works on a collection that nobody has labelled: calibration, the doctor and the
// making of question sets use them.
//
// The kinds of question:
//
//   - keyword: a few of the claim's most telling words, in another order;
//   - heading: what somebody else wrote about the text, that is its heading, doc
//     comment or commit subject, asked of the text alone;
//   - question: one of its sentences turned into a question;
//   - paraphrase: a sentence with words left out, bent, and replaced by synonyms,
//     so that the words differ and vectors can show their worth;
//   - absent: asks for names and things that the collection does not have;
//   - small_talk: what needs no knowledge at all.
//
// The last two have no answer. A heading question must not find its own copy: it
// is asked of what [Question.Mask] leaves of the claim.
//
// What this measures is search for a thing that the asker knows to be there. The
// questions share words with their claims more often than people's do, and a
// second claim may answer as well as the one wanted: figures compare settings on
// one collection; they are not the recall that users see.
//
// The same claims, whatever their order, and the same seed give the same
// questions. All functions are safe for concurrent use.
package knownitem
