// Package generate makes a data set from a user's own store and repository. A sweep
// over it answers what no public benchmark can: which settings are best for this
// knowledge and this model.
//
// [Make] selects claims and makes a question from each by the rules of package
// knownitem: no model, no cost, and the same questions for the same knowledge and seed.
// [Set.Reword] lets a chat model write the questions instead; [Set.Estimate] says
// beforehand what that costs. [Set.Write] writes a folder in the layout of the BEIR
// benchmark, which package dataset reads.
//
// Each question is made from one claim, and that claim has to be found. So the results
// can compare settings, but they are not the recall that users see.
package generate
