// Package calibrate finds out, without labels, how far an embedder's likeness is
// to be trusted on one collection. It asks questions made of the collection's own
// records (package knownitem) through the sources and the ranker of a turn, weighs
// the likeness in several ways, and chooses the weight that finds the records
// best. Where the questions don't tell, the default stays.
//
// It also measures how like a question the best record usually is: embedders
// differ in that, and the floor and the ranker go by it (retriever.Options.Usual).
package calibrate
