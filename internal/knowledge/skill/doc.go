// Package skill reads playbooks: descriptions of how something is done, written by a
// person in Markdown.
//
// A playbook is one file, or a folder with a SKILL.md as in the Agent Skills
// convention (agentskills.io). The file may start with front matter:
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
// Without it, the name is the first heading or else the file's name, and the first
// paragraph is the description. Other keys of front matter are ignored, except for
// triggers, tags, keywords and when_to_use, which say when a playbook applies.
//
// Other files of a folder are listed and never opened; scripts are never run.
//
// Caveats: front matter may have YAML's plain values, lists and one level of
// mappings; anchors and tags are refused. A name need not follow the convention's
// spelling: it is converted.
package skill
