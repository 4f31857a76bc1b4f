// Package objective stores long-term goals as YAML files, one per goal, that people and agents write. It computes the
// progress of each goal:
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
// Progress is computed from the tasks. The package also reads lists named completed_tasks and remaining_tasks in any
// spelling, tasks that are plain texts, and "[x] Design". An edit writes the changed parts in the form above.
//
// An edit changes as few lines as possible: comments, order, quotes and line ends elsewhere stay the same. The edited
// file is parsed and checked before it is written. Edits take a lock between processes, and each reads the file first,
// so concurrent edits do not lose changes. A broken file is a Problem with its line, and is never changed.
//
// Caveat: if tasks are written in brackets or as two lists, editing a task rewrites all of them, and comments among
// them are lost.
package objective
