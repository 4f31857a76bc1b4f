package config

// Structure is what a turn gets of what claims are about. The defaults are those of
// package structure.
type Structure struct {
	Enabled      bool    // constraints of the turn's entities, and the leg of their attributes
	Focal        int     // entities whose attributes are looked at
	Aspects      int     // of an entity
	Attributes   int     // of an aspect
	Dependencies int     // of an entity
	MinStrength  float64 // of a dependency

	Filing   // how claims come under their entities
	Learning // what comes first, by what was of use
}

func (s *Structure) keys() []key {
	return append([]key{
		bind("enabled", &s.Enabled, true, flag(),
			"Find the entities that a turn is about, surface their constraints and those of what they depend on, and look among their "+
				"attributes first. false leaves a constraint to be found like any other item."),
		bind("focal", &s.Focal, 8, whole(1, 100),
			"Entities of a turn whose attributes are looked at, the surest first. Constraints are those of every entity that the turn names."),
		bind("aspects", &s.Aspects, 10, whole(1, 100), "Aspects of an entity that are looked at, the weightiest first."),
		bind("attributes", &s.Attributes, 20, whole(1, 100), "Attributes of an aspect that are looked at."),
		bind("dependencies", &s.Dependencies, 30, whole(1, 1000),
			"Dependencies of an entity that are followed to attributes, the strongest first, where the weight is high. Constraints are followed over all."),
		bind("min_strength", &s.MinStrength, 0.3, fraction(1),
			"The least strength of a dependency that is followed. Constraints of what is behind a weaker one don't surface; 0 follows all."),
	}, append(s.Filing.keys(), s.Learning.keys()...)...)
}
