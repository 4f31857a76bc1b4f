// Package runner runs the agents of a plan. It starts each agent when everything that it requires exists, limits how
// many run at the same time, and records which of them succeeded.
//
//	report, err := runner.Run(ctx, p, runner.Options{Root: root, State: state, Resume: true})
//
// An agent succeeds when its command ends with status 0 and every file that it produces exists. If an agent fails, the
// agents that need its work are skipped, with the reason, and the others continue.
//
// # Commands
//
// A command runs in the project's folder, in a process group of its own and without input. Its environment is that of
// the caller plus KEN_AGENT and KEN_PLAN. After a timeout, or when Run's context ends, the group is asked to end
// (SIGTERM) and is killed after a grace period. Processes that are left in the group when the command ends are ended in
// the same way; otherwise they could change files while the next agents use them. On systems without process groups,
// only the command itself is killed, at once.
//
// # What is stored
//
// The folder State contains plan.json, which is replaced atomically after each agent, plan.lock, which one Run holds at
// a time, and plan/AGENT.log with the output of the last run. Secrets are redacted in logs, and the middle of a long
// one is left out. plan.json contains a hash of what each agent declares, but not its command or output.
//
// With Resume, an agent is not started again if it succeeded, its declaration is unchanged, its files exist, and the
// same is true for all agents whose work it needs.
//
// Caveats: changes between two runs to files that existed before any agent ran are not detected. A process that moves
// to another process group is not ended. If the calling process is killed and can't stop its commands, they continue.
package runner
