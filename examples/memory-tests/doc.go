// Package memorytests shows memory tests: cases.yaml says what an agent must and
// must not remember, and the test runs it. ken eval test runs the same file.
package memorytests
