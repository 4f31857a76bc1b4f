package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
)

// filled makes a project with a configuration and n claims.
func filled(t *testing.T, config string, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(3, 3))
	things := strings.Fields(`invoice ledger payment refund voucher customer basket parcel warehouse shipment carrier driver depot sensor valve
		turbine boiler pump engine garden orchard greenhouse kitchen recipe oven bakery window curtain carpet library novel archive letter
		stamp violin concert orchestra bicycle helmet tunnel bridge ferry harbour telescope planet comet rocket antenna radio battery`)
	verbs := strings.Fields("checks copies replaces removes stores sends creates updates rejects measures opens closes repairs")
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	var claims strings.Builder
	for i := range n {
		text := fmt.Sprintf("The %s %s the %s of the %s. When the %s is empty, the %s %s the %s before the %s.", pick(things), pick(verbs),
			pick(things), pick(things), pick(things), pick(things), pick(verbs), pick(things), pick(things))
		line, err := json.Marshal(map[string]any{"key": fmt.Sprint("k", i), "text": text})
		if err != nil {
			t.Fatal(err)
		}
		claims.Write(append(line, '\n'))
	}
	for name, text := range map[string]string{".ken/config.yaml": config, "claims.jsonl": claims.String()} {
		if err := writeTestFile(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := trustFolder(dir); err != nil {
		t.Fatal(err)
	}
	if status, _, err := kenIn(t, dir, "import", filepath.Join(dir, "claims.jsonl")); status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, err)
	}
	return dir
}

// The doctor measures, says what it means and what to do, and leaves the result
// for the turns.
func TestDoctorSaysHowSearchFares(t *testing.T) {
	letters := []string{"a", "b", "c", "d", "e", "f"}
	bad, err := table.New(letters, []float32{1, 0, 0, 1, 1, 1, 1, -1, 2, 1, -1, 2}, 2, table.Info{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bad.ken")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bad.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, config string
		n            int
		state        string
		detail, try  string
		factor       float64
	}{
		{"the built-in table", "", 150, "ok", "(factor 1)", "", 1},
		{"a table that knows six letters", "knowledge:\n  embed_path: " + path + "\n", 150, "warn",
			"does not help here: turns use keyword search only (factor 0)", "Remove knowledge.embed_path", 0},
		{"few records", "", 60, "ok", "not measured: that takes 100 records", "", -1},
		{"switched off", "retrieval:\n  calibrate: false\n", 120, "ok", "not measured: retrieval.calibrate is false", "", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filled(t, tt.config, tt.n)
			if status, _, err := kenIn(t, dir, "index", "-q"); status != cli.ExitOK { // the claims' file counts as well
				t.Fatal(err)
			}
			status, out, stderr := kenIn(t, dir, "doctor", "--json")
			got := gjson.Get(out, `checks.#(check=="search")`)
			if status != cli.ExitOK || got.Get("state").String() != tt.state || !strings.Contains(got.Get("detail").String(), tt.detail) ||
				!strings.HasPrefix(got.Get("try").String(), tt.try) {
				t.Errorf("exit status %d: %s%s", status, got.Raw, stderr)
			}
			kept, err := calibrate.Read(filepath.Join(dir, ".ken/state/default"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.factor < 0 {
				if kept != nil || got.Get("data").Exists() {
					t.Errorf("%+v, %s", kept, got.Raw)
				}
				return
			}
			if kept == nil || kept.Factor != tt.factor || got.Get("data.factor").Float() != tt.factor || got.Get("data.questions").Int() < 30 {
				t.Errorf("%+v, %s", kept, got.Raw)
			}
			_, plain, _ := kenIn(t, dir, "doctor", "-q")
			if !strings.Contains(plain, tt.detail) {
				t.Errorf("%s", plain)
			}
			t.Log(plain)
		})
	}
}
