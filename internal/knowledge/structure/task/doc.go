// Package task defines a work item: its states, the allowed changes between them, and
// the claim that stores it.
//
// A task is an entity of type task: a claim of kind ken.KindEntity whose text is the
// title, whose first entity is the task's name and whose others are what it is about.
// So it has a history, evidence and a scope as every claim has. Its state is in the
// claim's body, because a task that is done is no less true:
//
//	open ─→ in_progress ─→ done ─→ open (reopened)
//	  ↕ ↘      ↕         ↗
//	blocked ───┴─→ cancelled ─→ open
//
// An open task whose time is over is expired: nothing is written when that happens,
// it follows from the time.
package task
