// Package objective keeps long goals as YAML files that people and agents write, one a
// goal, and says how far each has come:
//
//	id: OBJ-0001
//	title: Ship the new login
//	status: active
//	created: 2026-11-22T09:00:00Z
//	updated: 2026-11-22T10:30:00Z
//	owner: ann
//	tags: [auth]
//	links:
//	  decisions: [ADR-0012]
//	  sessions: [s-81]
//	tasks:
//	  - text: Design
//	    done: true
//	    done_at: 2026-11-22T10:30:00Z
//	    by: agent-3
//	    claim: 0198a000-0000-7000-8000-000000000001
//	  - text: Implement
//	description: |
//	  Everything that a person sees.
//
// Progress is computed from the tasks. Read as well are lists named completed_tasks and
// remaining_tasks in any spelling, tasks that are plain texts, and "[x] Design"; the first
// edit writes what it touches in the form above.
//
// An edit changes the lines that it must, and is read again before it is written: comments,
// order, quotes and line ends of the rest stay as they are. Two that edit at once both get
// what they want, in any number of processes: edits wait for each other, and each reads the
// file first. A file that is broken is a Problem with its line, and is left alone.
//
// Caveat: where tasks are written in brackets, or as two lists, the edit of a task rewrites
// all of them, and comments among them are lost.
package objective
