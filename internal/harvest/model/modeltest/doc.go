// Package modeltest is a model for tests: an OpenAI-compatible server that plays a
// script of answers. It is for the client of package model and for programs that use
// it.
//
//	server := modeltest.Serve(t, modeltest.Prose(), modeltest.Echo())
//	client := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model})
//
// Each request for an extraction plays the next [Play] of the script. The last one
// is repeated for all further requests, and an empty script is [Echo]. Other
// requests, such as an agent's own turns, are not part of the script. The server
// answers them in a sentence, streamed if requested, so that one server can be the
// gateway of a whole program. It also answers requests to file facts under their
// entities, by the words of the facts.
//
// [Echo] makes its answers from the request, with quotes that are in it. The other
// answers are recordings, in testdata/answers.json, of the ways in which models
// fail. They belong to [Session], a small session of daily work.
package modeltest
