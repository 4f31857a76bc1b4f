package drift_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/drift"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

func reported(t *testing.T) drift.Report {
	t.Helper()
	root := project(t, archive(t, "report.txtar"))
	m, err := drift.Read(root, "architecture.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := drift.ReadBaseline(root, "baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	return drift.Check(graph(t, root), m, drift.Options{Baseline: b})
}

// TestReports compares the three formats with golden files, because other programs read them.
func TestReports(t *testing.T) {
	r := reported(t)
	var text, sarif bytes.Buffer
	if err := drift.WriteText(&text, &r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(b, '\n'))
	if err := drift.WriteSARIF(&sarif, &r, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.sarif", sarif.Bytes())
}

// TestSARIF checks the requirements of the schema and of code scanning. The golden file shows an example.
func TestSARIF(t *testing.T) {
	r := reported(t)
	var b bytes.Buffer
	if err := drift.WriteSARIF(&b, &r, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID       string
				RuleIndex    int
				Level        string
				Message      struct{ Text string }
				Suppressions []struct{ Kind string }
				Locations    []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || log.Schema == "" || len(log.Runs) != 1 {
		t.Fatalf("%+v", log)
	}
	run := log.Runs[0]
	if d := run.Tool.Driver; d.Name == "" || d.Version != "v1.2.3" || len(d.Rules) != 2 {
		t.Errorf("%+v", d)
	}
	if want := len(r.Violations) + len(r.Known); len(run.Results) != want || want < 5 {
		t.Errorf("%d results of %d", len(run.Results), want)
	}
	levels, prints := map[string]int{}, map[string]bool{}
	for _, x := range run.Results {
		levels[x.Level]++
		prints[x.PartialFingerprints["kenDrift/v1"]] = true
		if rules := run.Tool.Driver.Rules; x.RuleIndex < 0 || rules[x.RuleIndex].ID != x.RuleID || rules[x.RuleIndex].ShortDescription.Text == "" || rules[x.RuleIndex].Help.Text == "" {
			t.Errorf("rule %d of %+v", x.RuleIndex, x)
		}
		if x.Message.Text == "" || len(x.Locations) != 1 {
			t.Fatalf("%+v", x)
		}
		at := x.Locations[0].PhysicalLocation
		if uri := at.ArtifactLocation.URI; uri == "" || strings.ContainsAny(uri, " #\\é") || strings.HasPrefix(uri, "/") || at.ArtifactLocation.URIBaseID != "%SRCROOT%" || at.Region.StartLine < 1 {
			t.Errorf("%+v", at)
		}
	}
	if levels["error"] == 0 || levels["warning"] != 1 || levels["note"] != 1 || len(prints) != len(run.Results) {
		t.Errorf("%v, %v", levels, prints)
	}
}

// Reports without findings are valid, too.
func TestEmptyReports(t *testing.T) {
	root := t.TempDir()
	m := parse(t, "layers:\n")
	r := drift.Check(graph(t, root), m, drift.Options{})
	var text, sarif bytes.Buffer
	if err := drift.WriteText(&text, &r); err != nil || text.String() != "no new violations; 0 imports between 0 files in 0 layers looked at\n" {
		t.Errorf("%q, %v", &text, err)
	}
	if err := drift.WriteSARIF(&sarif, &r, ""); err != nil || !strings.Contains(sarif.String(), `"results": []`) {
		t.Errorf("%s, %v", &sarif, err)
	}
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), "null") {
		t.Errorf("%s, %v", b, err)
	}
}
