// Package coderecall measures whether a turn's block holds the code that answers a question
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
// The marker is a regular expression for the lines that implement the answer, not for a
// signature or a comment. An item of the block that is cut from the file of the code, and that
// the marker matches, is implementing code. Such an item, and one that matches an entry of
// also (a path and a text), is an answer. Questions of the kinds absent and talk have no
// answer: a block of less than SilentChars characters is right.
package coderecall
