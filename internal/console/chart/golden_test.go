package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// lines puts line ends where elements end, so that versions can be compared.
var lines = strings.NewReplacer("</text>", "</text>\n", "</g>", "</g>\n", "</a>", "</a>\n", "</svg>", "</svg>\n", "</li>", "</li>\n", "</tr>", "</tr>\n", "</figure>", "</figure>\n", "<rect", "\n<rect", "<line", "\n<line")

func TestChartsAreAsTheyWere(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			path := filepath.Join("testdata", s.name+".html")
			got := lines.Replace(string(s.picture) + "\n" + string(s.table) + "\n")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; run go test ./internal/console/chart -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s has changed; run go test ./internal/console/chart -update:\n%s", path, diff)
			}
		})
	}
}

func TestTheSameDataGivesTheSameBytes(t *testing.T) {
	want := samples()
	for range 3 {
		if diff := cmp.Diff(want, samples(), cmp.AllowUnexported(sample{})); diff != "" {
			t.Fatal(diff)
		}
	}
}
