package config

// ClassifyBy is who files claims in the background, after the rules that file them as
// they are written.
type ClassifyBy string

// Who files claims.
const (
	ClassifyAuto  ClassifyBy = "auto"  // the model of harvest.model beside the rules; without one, rules alone
	ClassifyModel ClassifyBy = "model" // the model, and dependencies are its affair alone
	ClassifyRules ClassifyBy = "rules" // rules alone
	ClassifyOff   ClassifyBy = "off"   // nobody: what the writing itself files is all
)

// Filing is how claims are filed in the background.
type Filing struct {
	Classify        ClassifyBy
	ClassifyFacts   int // in one request about aspects
	DependencyFacts int // in one request about dependencies
}

func (f *Filing) keys() []key {
	return []key{
		bind("classify", &f.Classify, ClassifyAuto, choice(ClassifyAuto, ClassifyModel, ClassifyRules, ClassifyOff),
			"Who finds out in the background under which aspect a claim belongs and what depends on what: harvest.model where one is set, and rules; "+
				"model leaves dependencies to it alone; off leaves claims as the rules filed them when they were written, and old ones unfiled."),
		bind("classify_facts", &f.ClassifyFacts, 8, whole(1, 10), "Facts of one entity in one request about aspects. Small models drop some of more than 10."),
		bind("dependency_facts", &f.DependencyFacts, 5, whole(1, 5), "Facts of one entity in one request about dependencies."),
	}
}

// ClassifyModel reports whether a model is to file claims.
func (c Config) ClassifyModel() bool {
	return c.Harvest.Model != "" && (c.Structure.Classify == ClassifyAuto || c.Structure.Classify == ClassifyModel)
}
