// Package outcome reads what came of a tool call out of the text that the tool
// returned: the exit code, whether the call failed, the line that says why, and
// which tests passed.
//
// Agents frame the output of a command in their own ways, and the command may
// print anything, a frame's words included. So a frame is read only where frames
// stand, at the very beginning or the very end, and what is not said is unknown:
// an exit code that nobody named is no evidence of anything.
package outcome
