package config

import "github.com/kenlayer/ken/internal/lazyregexp"

// Tools selects the tools that are listed to an agent.
type Tools struct {
	Profile string // profiles and names of tools, separated by commas
}

var toolNames = lazyregexp.New(`^[a-z0-9_]+( *, *[a-z0-9_]+)*$`)

func (t *Tools) keys() []key {
	return []key{
		bind("profile", &t.Profile, "core", words("names of profiles and tools, separated by commas", "Write it as in core,code.", toolNames.MatchString),
			"The tools that are listed: profiles (core, memory, code, decisions, all) and names of tools, separated by commas. Each tool costs tokens in "+
				"every request of the agent; docs/tools.md has the figures. What is not listed still answers when it is called by name."),
	}
}
