package evals

// Report is what a sweep found. Its JSON form is a contract: fields are added, and
// none of them changes; see docs/evals.md.
type Report struct {
	Dataset   string   `json:"dataset"`
	N         int      `json:"n"`         // questions asked
	Queries   int      `json:"queries"`   // of these, with a known answer
	NoAnswer  int      `json:"no_answer"` // of these, known to have none
	Corpus    int      `json:"corpus"`    // records remembered
	Owners    int      `json:"owners"`    // stores that they are in: one for each conversation
	Refused   int      `json:"refused"`   // records that the store doesn't take
	Embedder  string   `json:"embedder"`  // the model's name; "" for none
	Seed      uint64   `json:"seed"`
	Workers   int      `json:"workers"` // turns at once
	ElapsedMS float64  `json:"elapsed_ms"`
	Notes     []string `json:"notes"`
	Order     []string `json:"order"` // the names in Modes, in the order of the run

	Modes      map[string]Score    `json:"modes"`
	ByCategory map[string]Category `json:"by_category"`
	// PerQuery has what Compare needs. Nil when it was left out.
	PerQuery *PerQuery `json:"per_query,omitempty"`
	// Faults are the questions that went worst, by mode. They hold text of the data
	// set and are not part of the JSON form.
	Faults map[string][]Fault `json:"-"`

	answers []answer
}

// Score is how one mode did on some questions.
type Score struct {
	Settings map[string]string     // what was varied, by full key
	Values   map[string]float64    // by measure, and p50_ms, p99_ms and block_chars; 0..1 except these
	CI       map[string][2]float64 // 95 % intervals by measure, where there are questions of its kind
	Degraded string                // why the mode ran with less than it needs; "" for no reason
}

// Category is how the modes did on one kind of question.
type Category struct {
	N     int
	Modes map[string]Score
}

// PerQuery has every question's own values, in columns.
type PerQuery struct {
	IDs        []string `json:"ids"`
	Categories []string `json:"categories"`
	// Modes has a column by mode and measure; NaN, null in JSON, where the measure
	// isn't of this kind of question.
	Modes map[string]map[string]Column `json:"modes"`
}

// Column is one value for each question.
type Column []float64
