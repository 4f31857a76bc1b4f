package foreign_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/store/foreign"
)

// A quotation mark that is never closed would make one claim of the rest of a table. Other stray
// marks are read as they are.
func TestTablesWithStrayMarks(t *testing.T) {
	for _, tt := range []struct{ table, texts, fault string }{
		{"text,tags\n\"unclosed,x\nThe gate is red.,y\n", "", "the table can't be read"},
		{"text,tags\nThe gate is red.,y\n\"unclosed", "The gate is red.", "the table can't be read"},
		{"text,tags\nA 5\" disk,x\n\"unclosed,y\nmore,z\n", "A 5\" disk", "the table can't be read"},
		{"text;tags\n\"unclosed;x\nmore;y", "", "the table can't be read"},
		{"text,tags\n\"two\nlines\",x\n", "two\nlines", ""},
		{"text,tags\n\"two\nlines\"", "two\nlines", ""},
		{"text,tags\nA 5\" disk,x\nThe gate is red.,y\n", "A 5\" disk|The gate is red.", ""},
		{"text,tags\n\"the \"red\" gate\",x\nThe gate is red.,y\n", "the \"red\" gate|The gate is red.", ""},
		{"text,tags\nThe gate is red.,x\n\"the \"red\" gate\"\n", "The gate is red.|the \"red\" gate", ""},
		{"text,tags\r\n\"The gate is red.\",x\r\n", "The gate is red.", ""},
		{"text,tags,text\na b,x,c d\n", "", "two columns have this name"},
		{"text,,\nThe gate is red.,,\n", "The gate is red.", ""},
	} {
		var texts []string
		fault := ""
		for it := range foreign.Read(strings.NewReader(tt.table), foreign.CSV, foreign.Options{Name: "t.csv"}) {
			if it.Err != nil {
				fault = it.Err.Error()
			} else if it.Skip == "" {
				texts = append(texts, it.Claim.Text)
			}
		}
		if got := strings.Join(texts, "|"); got != tt.texts || tt.fault == "" != (fault == "") || !strings.Contains(fault, tt.fault) {
			t.Errorf("%q: %q, fault %q", tt.table, got, fault)
		}
	}
}
