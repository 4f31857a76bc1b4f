package embed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// The JSON is for programs: these names stay.
func TestAdaptedJSON(t *testing.T) {
	b, err := json.Marshal(adapted{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"wins", "report.base", "report.model", "report.pairs", "report.held_out", "report.tuned", "report.before.recall@10",
		"report.after.mrr", "report.mrr_difference.low", "report.recall@10_difference.high", "report.by_source", "mined.files"} {
		if !gjson.GetBytes(b, strings.ReplaceAll(path, "@", `\@`)).Exists() {
			t.Errorf("%s is not in %s", path, b)
		}
	}
}
