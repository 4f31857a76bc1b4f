// Package openaitools offers the tools of a registry to a model through go-openai:
// [Tools] are what a request names, and a [Loop] runs what the model calls, hands the
// answers back and asks again until it answers in words.
package openaitools
