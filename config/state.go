package config

import "path/filepath"

// InProject is where a configured path leads: one that is not absolute is below the
// project's root.
func InProject(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// State is the folder that holds the stores of the project in root, one for each owner.
func (c Config) State(root string) string { return InProject(root, c.Knowledge.DBPath) }
