// Package coderecall measures whether a turn's block contains the code that answers a question
// about a repository.
//
// A set is a YAML file about one repository:
//
//	repository: gin
//	source: go:github.com/gin-gonic/gin@v1.12.0
//	questions:
//	  - ask: how does gin recover from a panic in a handler?
//	    kind: how
//	    code: recovery.go
//	    marker: 'if err := recover\(\); err != nil'
//	    also: ['docs/doc\.md: CustomRecovery']
//	  - ask: how does gin shard its Postgres tables?
//	    kind: absent
//
// The marker is a regular expression for the lines that implement the answer, as opposed to a
// signature or a comment. An item of the block is implementing code if it comes from the
// code's file and the marker matches it. An answer is such an item, or one that matches an
// entry of also (a path and a text). Questions of the kinds absent and talk have no answer: a
// block of less than 600 characters is right.
package coderecall
