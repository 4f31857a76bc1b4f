package config

// Repository is what is read from the project's files and history.
type Repository struct {
	Index        bool     // whether files are searchable
	MaxFileBytes int      // larger files are skipped
	ChunkChars   int      // of a piece of a file, aimed at
	GitCommits   int      // newest commits to read; 0 reads no history
	Exclude      []string // patterns in the syntax of .gitignore
}

func (r *Repository) keys() []key {
	return []key{
		bind("index", &r.Index, true, flag(), "Make the repository's files searchable.").judged(stricter("whether files are read", "true", "false")),
		bind("max_file_bytes", &r.MaxFileBytes, 1<<20, whole(1<<10, 1<<30), "Larger files are skipped: 1048576 is 1 MiB."),
		bind("chunk_chars", &r.ChunkChars, 1200, whole(200, 100_000),
			"The length that pieces of a file aim at, in characters."),
		bind("git_commits", &r.GitCommits, 2000, whole(0, 1_000_000),
			"How many of the newest commits are read. 0: no history."),
		bindList("exclude", &r.Exclude, name(),
			"Files to leave out besides those that git ignores, in the syntax of .gitignore, such as [testdata/, \"*.min.js\"].").judged(unlessSet("which files are not read")),
	}
}
