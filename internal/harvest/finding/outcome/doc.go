// Package outcome extracts the outcome of a tool call from the text that the
// tool returned: the exit code, whether the call failed, the line that says why,
// and which tests passed.
//
// Agents put frames of different formats around the output of a command, and the
// command may print anything, even the words of a frame. So a frame is only
// recognised at the very beginning or the very end. An exit code that is not
// named there is unknown, and is no evidence of success or failure.
package outcome
