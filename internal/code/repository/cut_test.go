package repository

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenLimits are small, so that small files have to be cut.
var goldenLimits = limits{max: 360, min: 40}

// TestCutGolden shows how each sort of file is cut. A file named x.go.txt is cut
// as x.go; the tools would take it for a part of this package otherwise.
func TestCutGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/cut/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.Replace(filepath.Base(name), ".go.txt", ".go", 1)
			checkChunks(t, path, string(text), goldenLimits)
			golden := name + ".golden"
			got := show(cutText(path, string(text), goldenLimits))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got, -update accepts:\n%s", diff)
			}
		})
	}
}

func cutText(path, text string, lim limits) []chunk {
	return source{path: path, text: text, hash: "sha256:0", modTime: time.Unix(0, 0).UTC()}.chunks(lim)
}

func show(chunks []chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "=== %s [%d-%d]", c.Heading, c.first, c.last)
		if len(c.Entities) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(c.Entities, " "))
		}
		fmt.Fprintf(&b, "\n%s\n", c.Text)
	}
	return b.String()
}
