// Package usage counts what each key asks of each model: requests, tokens and cost by
// day, key, owner and model. It enforces nothing itself: [Store.Spend] reports whether a
// key has reached its daily budget, and the gateway rejects the request.
//
// Days are in UTC. Each day has a file, which is written in the background some seconds
// after a change and when the store is closed. A process that is killed loses what was
// counted after the last write.
package usage
