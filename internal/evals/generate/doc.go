// Package generate makes a data set out of one's own store and repository, so
// that a sweep answers what no public benchmark can: which settings are best
// here, on this knowledge, with this model.
//
// [Make] picks claims and makes a question of each by the rules of package
// knownitem: no model, no cost, and the same questions for the same knowledge and
// seed. [Set.Reword] lets a chat model ask instead, once [Set.Estimate] has said
// what that takes. [Set.Write] writes a folder in the layout of the BEIR
// benchmark, which package dataset reads.
//
// A question is made of one claim, and that claim is what has to be found. So
// figures compare settings; they are not the recall that users see.
package generate
