// Package shell parses the command lines that agents run, as far as it is needed
// to learn from them: what a line does, whether it is worth remembering, whether
// its exit status is its own, and in which form it is recognised next time.
//
// It supports quotes, operators, redirections and here-documents. It expands
// nothing and runs nothing: variables, globs and substitutions are words. A line
// that it can't parse is a script, and nothing is learned from scripts.
package shell
