// Package modeltest is a model for tests: an OpenAI-compatible server that plays
// a script of answers, for the client of package model and for whatever runs one
// end to end.
//
//	server := modeltest.Serve(t, modeltest.Prose(), modeltest.Echo())
//	client := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model})
//
// Each request for an extraction plays the next [Play] of the script; the last one
// is played for all that follow, and an empty script is [Echo]. Requests that ask
// for something else, such as an agent's own turns, are no part of the script: the
// server answers them in a sentence, streamed if they ask for it, so that one
// server can stand for the whole gateway of a program. So are requests to file facts
// under their entities, which it answers by the words of the facts.
//
// [Echo] makes its answers of what it is sent, with quotes that stand there. The
// other answers are recordings, in testdata/answers.json, of the ways in which
// models fail; they belong to [Session], a small session of daily work.
package modeltest
