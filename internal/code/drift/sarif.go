package drift

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Names defined by SARIF.
const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
	sarifRoot    = "%SRCROOT%"

	// sarifPrint is the name of our fingerprint. It must change if the algorithm changes.
	sarifPrint = "kenDrift/v1"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	Calls      []sarifCall   `json:"invocations"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifCall struct {
	Successful bool          `json:"executionSuccessful"`
	Notes      []sarifNotice `json:"toolConfigurationNotifications,omitempty"`
}

type sarifNotice struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID     Rule      `json:"id"`
	Name   string    `json:"name"`
	Short  sarifText `json:"shortDescription"`
	Full   sarifText `json:"fullDescription"`
	Help   sarifText `json:"help"`
	Config struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
	Properties struct {
		Tags     []string `json:"tags"`
		Severity string   `json:"problem.severity"`
	} `json:"properties"`
}

type sarifResult struct {
	RuleID       Rule               `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	State        string             `json:"baselineState"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   struct {
		StartLine int `json:"startLine"`
	} `json:"region"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

// sarifRules lists the rules by index.
func sarifRules() []sarifRule {
	rules := []sarifRule{
		{ID: RuleDependency, Name: "LayerDependency", Short: sarifText{"A layer imports one that it must not depend on"},
			Full: sarifText{"A file imports something of a layer that is not among those which its own layer may depend on."},
			Help: sarifText{"Move the code to a layer that may depend on both, turn the dependency round with an interface, or add the layer to may_depend_on in the manifest if the architecture has changed."}},
		{ID: RuleUnassigned, Name: "FileInNoLayer", Short: sarifText{"A file is in no layer"},
			Full: sarifText{"The manifest is strict, and none of its layers has this file."},
			Help: sarifText{"Add the file's folder to the paths of a layer in the manifest."}},
	}
	for i := range rules {
		rules[i].Config.Level = "error"
		rules[i].Properties.Tags = []string{"architecture", "maintainability"}
		rules[i].Properties.Severity = "error"
	}
	return rules
}

// WriteSARIF writes a report in SARIF 2.1.0, for code scanning services and editors. version is the program's version.
// A new violation is an error, or a warning if it was found by a guess. A known one is a suppressed note. Errors are
// w's.
func WriteSARIF(w io.Writer, r *Report, version string) error {
	run := sarifRun{ColumnKind: "utf16CodeUnits", Results: []sarifResult{}}
	call := sarifCall{Successful: true}
	for _, w := range r.Warnings {
		call.Notes = append(call.Notes, sarifNotice{"warning", sarifText{w}})
	}
	run.Calls = []sarifCall{call}
	run.Tool.Driver = sarifDriver{"ken drift", version, sarifRules()}
	for i := range r.Violations {
		s := sarifOf(&r.Violations[i])
		s.State = "new"
		run.Results = append(run.Results, s)
	}
	for i := range r.Known {
		s := sarifOf(&r.Known[i])
		s.State, s.Level = "unchanged", "note"
		s.Suppressions = []sarifSuppression{{"external", "it is in the baseline"}}
		run.Results = append(run.Results, s)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

func sarifOf(v *Violation) sarifResult {
	s := sarifResult{RuleID: v.Rule, Level: "error", Message: sarifText{v.Message()}, Fingerprints: map[string]string{sarifPrint: v.Fingerprint}}
	s.RuleIndex = slices.IndexFunc(sarifRules(), func(r sarifRule) bool { return r.ID == v.Rule })
	if v.How == codegraph.Guess {
		s.Level = "warning"
	}
	at := sarifLocation{sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: v.File}).String(), sarifRoot}}}
	at.Physical.Region.StartLine = v.Line
	s.Locations = []sarifLocation{at}
	return s
}
