package config

// Graph is what is known of the code in the repository.
type Graph struct {
	Types     bool // whether Go is read with its types, too
	Generated bool // whether what generated files declare counts
	Symbols   int  // of a turn
	Watch     bool // whether processes that stay follow files as they change
}

func (g *Graph) keys() []key {
	return []key{
		bind("types", &g.Types, true, flag(),
			"Check the types of Go packages in the background, where a go command is, so that who refers to what is known exactly. false goes by names.").judged(stricter("whether the go command is run", "true", "false")),
		bind("generated", &g.Generated, false, flag(), "Know what generated files declare as well, and not what they import alone."),
		bind("symbols", &g.Symbols, 4, whole(0, 50),
			"The most symbols that a turn is told about, the surest first, with what they are, who depends on them and which decision governs them."),
		bind("watch", &g.Watch, true, flag(), "Let processes that stay, ken serve and ken mcp, follow files as they change. Without, what a tool call writes is noticed all the same.").judged(stricter("whether files are followed", "true", "false")),
	}
}

// Decisions is where architecture decisions are kept.
type Decisions struct {
	Folders []string // from the project's root; empty means where teams keep them
}

func (d *Decisions) keys() []key {
	return []key{
		bindList("folders", &d.Folders, folder(),
			"Folders of the project with a Markdown file for each decision. Empty: docs/adr, docs/decisions, doc/adr and others that teams use.").judged(inFolder("", reachPath)),
	}
}

// Objectives are goals that outlast a session.
type Objectives struct {
	Folder string // from the project's root
	Chars  int    // of what a turn is told about those that are active
}

func (o *Objectives) keys() []key {
	return []key{
		bind("folder", &o.Folder, ".ken/knowledge/objectives", folder(), "The folder of the project with a YAML file for each objective.").judged(inFolder("", reachPath)),
		bind("chars", &o.Chars, 1200, whole(0, 100_000),
			"What a turn is told about the objectives that are active, in characters. 0 tells nothing."),
	}
}
