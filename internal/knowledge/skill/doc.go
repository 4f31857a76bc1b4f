// Package skill reads playbooks: how something is done, written by a person in
// Markdown.
//
// A playbook is one file, or a folder with a SKILL.md as the Agent Skills
// convention has it (agentskills.io). The file may start with front matter:
//
//	---
//	name: deploy-to-production
//	description: Roll out a release and roll it back. Use when somebody wants to ship.
//	license: MIT
//	allowed-tools: Bash Read
//	metadata:
//	  triggers: release, rollback
//	---
//	1. Check that CI is green.
//
// Without it, the first heading is the name, or else the file's, and the first
// paragraph says what it is for. Whatever front matter says beyond the convention
// is left alone, but for triggers, tags, keywords and when_to_use, which say when
// a playbook applies.
//
// Other files of a folder are listed and never opened; scripts are never run.
//
// Caveats: of YAML, front matter may have plain values, lists and one level of
// mappings; anchors and tags are refused. A name need not follow the convention's
// spelling: it is brought into it.
package skill
