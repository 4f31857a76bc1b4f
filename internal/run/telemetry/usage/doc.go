// Package usage counts what each key asks of each model: requests, tokens and cost by
// day, key, owner and model. It enforces nothing by itself: [Store.Spend] says whether a
// key has reached its budget of the day, and the gateway refuses.
//
// Days are those of UTC. A day's figures are kept in a file of their own, which is
// written in the background some seconds after a change and when the store is closed; a
// process that is killed loses what came after the last write.
package usage
