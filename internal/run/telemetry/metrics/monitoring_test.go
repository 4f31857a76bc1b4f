package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
)

// TestMonitoring compares the alert rules and the dashboard with the metrics that there are.
// It does not parse PromQL: promtool check rules does.
func TestMonitoring(t *testing.T) {
	labels := map[string][]string{} // by metric
	quoted := regexp.MustCompile("`(\\w+)`")
	for line := range strings.Lines(metrics.Reference()) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || !strings.HasPrefix(line, "| `ken_") {
			continue
		}
		name := strings.Trim(cells[0], "| `")
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			labels[name] = append(labels[name], m[1])
		}
		if labels[name] == nil {
			labels[name] = []string{}
		}
		if cells[1] == "histogram" {
			labels[name+"_bucket"] = append([]string{"le"}, labels[name]...)
			labels[name+"_sum"], labels[name+"_count"] = labels[name], labels[name]
		}
	}

	var used []string
	metric := regexp.MustCompile(`\b(ken_\w+)(?:\{([^}]*)\})?`)
	by := regexp.MustCompile(`by \(([\w, ]+)\)`)
	added := regexp.MustCompile(`sum(?: by \([\w, ]+\) )?\(ken_(?:jobs|records|embedded_records|attention_items)`)
	matcher := regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	check := func(where, expr string) {
		t.Helper()
		if strings.Count(expr, "(") != strings.Count(expr, ")") {
			t.Errorf("%s: brackets do not match: %s", where, expr)
		}
		var has []string
		for _, m := range metric.FindAllStringSubmatch(expr, -1) {
			known, ok := labels[m[1]]
			if !ok {
				t.Errorf("%s: there is no metric %s", where, m[1])
			}
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(known, l[1]) {
					t.Errorf("%s: %s has no label %s", where, m[1], l[1])
				}
			}
			has = append(has, known...)
			used = append(used, m[1])
		}
		if m := added.FindString(expr); m != "" {
			t.Errorf("%s: each node tells this of every owner, so it must not be added up: %s", where, m)
		}
		for _, m := range by.FindAllStringSubmatch(expr, -1) {
			for l := range strings.SplitSeq(m[1], ", ") {
				if !slices.Contains(has, l) {
					t.Errorf("%s: no metric of it has the label %s: %s", where, l, expr)
				}
			}
		}
	}

	folder := filepath.Join("..", "..", "..", "..", "packaging", "monitoring")
	b, err := os.ReadFile(filepath.Join(folder, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var alerts struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(b, &alerts, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			check(r.Alert, r.Expr)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["try"] == "" {
				t.Errorf("%s: it needs a severity, a summary, and what to try", r.Alert)
			}
		}
	}

	b, err = os.ReadFile(filepath.Join(folder, "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		if seen[p.ID] {
			t.Errorf("two panels have the number %d", p.ID)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			check("panel "+p.Title, target.Expr)
		}
	}
	if len(used) < 30 {
		t.Errorf("only %d metrics are used", len(used))
	}
}
