package repository_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/code/repository"
)

// If the home folder is within the project, Ken's folders of the user are not part of the project.
func TestTheUsersOwnFoldersAreLeftOut(t *testing.T) {
	root := t.TempDir()
	for name, folder := range map[string]string{"XDG_STATE_HOME": "home/state", "XDG_DATA_HOME": "home/data", "XDG_CONFIG_HOME": "home/config"} {
		t.Setenv(name, filepath.Join(root, folder))
		dir := filepath.Join(root, folder, "ken")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("of the user"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "home", "notes.md"), []byte("# Notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := repository.Files(t.Context(), root, repository.Options{})
	if err != nil || len(tree.Files) != 1 || tree.Files[0].Path != "home/notes.md" {
		t.Errorf("%+v, %v", tree.Files, err)
	}
}
