// Package shell reads the command lines that agents run, as far as learning from
// them asks: what a line does, whether it is worth remembering, whether its exit
// status speaks for it, and how it is spelt so that it is recognised next time.
//
// It knows quotes, operators, redirections and here-documents. It expands nothing
// and runs nothing: variables, globs and substitutions are words. What it can't
// read it calls a script, and nothing is learned from a script.
package shell
