// Package calibrate determines, without labels, how much the vectors of an embedder should count on
// one collection. It asks questions that are made from the collection's own records (package
// knownitem), through the sources and the ranker of a turn. It tries several weights for the
// vectors and chooses the one that finds the records best. If the questions show no clear
// difference, the default stays.
//
// It also measures the usual likeness between a question and its best record. It differs between
// embedders, and the floor and the ranker depend on it (retriever.Options.Usual).
package calibrate
