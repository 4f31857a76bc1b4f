package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/trust"
)

func TestMissingGitIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	at := filepath.Join(root, ".ken", "state")
	if err := os.MkdirAll(filepath.Join(at, "default"), 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := trust.FindState(root, at, false)
	if err != nil || st.Dir == at || !strings.HasPrefix(st.Foreign, "git,") || !strings.HasSuffix(st.Foreign, "is not in PATH") {
		t.Errorf("%+v, %v", st, err)
	}
}
