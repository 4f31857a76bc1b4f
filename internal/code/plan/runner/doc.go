// Package runner runs the agents of a plan. It starts each agent when everything that it
// requires is there, limits how many run at once, and records which of them succeeded.
//
//	report, err := runner.Run(ctx, p, runner.Options{Root: root, State: state, Resume: true})
//
// An agent succeeds when its command ends with status 0 and every file that it
// produces is there. When one fails, those that need its work are skipped, with the
// reason, and the others go on.
//
// # Commands
//
// A command runs in the project's folder, with the environment of the caller and
// KEN_AGENT and KEN_PLAN, reads nothing, and has a process group of its own. A timeout,
// and the end of Run's context, ask the group to end (SIGTERM) and kill it after a
// grace. What a command leaves running in its group when it ends is ended the same way:
// who needs its work would find it changing otherwise. Where there are no process groups,
// the command itself is killed, at once.
//
// # What is kept
//
// The folder State holds plan.json, which is replaced whole after each agent; plan.lock,
// which one Run at a time holds; and plan/AGENT.log with the last run's output, without
// what looks like a secret, and without its middle if it is long. plan.json holds no
// word of a command or its output, but a hash of what each agent declares.
//
// With Resume, an agent is not started again if it succeeded, declares what it declared
// then, its files are there, and all of that goes for those whose work it needs as well.
//
// Caveats: whether a file that was there before any agent has changed between two runs
// is not looked at. A command that moves itself to another process group is on its own.
// If the process is killed with no chance to stop its commands, they go on.
package runner
