package metrics

import "strings"

// Reference returns the documentation of every metric in Markdown. docs/metrics.md
// is a copy that the tests keep up to date.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\n" +
		"<!-- Generated from package internal/run/telemetry/metrics: go test ./internal/run/telemetry/metrics -update -->\n\n" +
		"`ken serve` has these metrics under `/metrics`, in Prometheus' text format, and also those of Go's runtime\n" +
		"and of the process (`go_…`, `process_…`). Units are seconds, bytes and code points. Labels take few values: a model\n" +
		"or a route that comes after the first 32 counts as `other`, and no label is a session, turn or claim. The use of\n" +
		"keys is counted by key, owner and model, for a thousand combinations at most.\n" +
		"Metrics that are read from a store are left out when the store does not answer within a second, which\n" +
		"`ken_source_up` says.\n\n" +
		"If there are keys, `/metrics` needs one with the right `operate`. A key of the configured owner (`knowledge.owner`, the\n" +
		"owner of a key that names none) sees all of it: give that one to the monitoring. A key of another owner sees the metrics\n" +
		"with the label `owner` for that owner, usage included, their `ken_source_up`, and `ken_build_info`, but no metric over all owners.\n\n" +
		"| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, f := range New().families {
		labels := ""
		if f.labels != "" {
			labels = "`" + strings.ReplaceAll(f.labels, ", ", "`, `") + "`"
		}
		b.WriteString("| `" + f.name + "` | " + f.kind + " | " + labels + " | " + strings.ReplaceAll(f.help, "|", `\|`) + " |\n")
	}
	return b.String()
}
