package entity

import (
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// View is what is known of an entity. Lists are never nil.
type View struct {
	Name    string   `json:"name"`    // that it goes by, as names are compared
	Display string   `json:"display"` // as people write it
	Type    string   `json:"type"`    // of Types
	About   string   `json:"about,omitempty"`
	Aliases []string `json:"aliases"`
	// Others are other entities that the name asked for stands for as well.
	Others  []string `json:"others,omitempty"`
	Records int      `json:"records"` // that carry its names, links included; one that carries two counts twice

	Constraints  []Constraint `json:"constraints"` // its own first, then those of what is one dependency away; without those of everything
	Aspects      []Aspect     `json:"aspects"`     // by weight
	Dependencies []Dependency `json:"dependencies"`
	Dependents   []Dependency `json:"dependents"`
	Tasks        []task.Task  `json:"tasks"` // that are about it, those that are over last
	// Evidence counts the pieces, by kind, behind the claims shown.
	Evidence map[ken.EvidenceKind]int `json:"evidence"`
	// Superseded are claims that were replaced, where they were asked for.
	Superseded []Claim `json:"superseded,omitempty"`

	// Descriptions are the claims that say what it is and what else it is called.
	Descriptions []Claim `json:"descriptions"`
}

// Constraint is a rule that holds for an entity.
type Constraint struct {
	Claim
	Distance int    `json:"distance"`      // 0 its own, 1 of what it depends on or what depends on it
	Via      string `json:"via,omitempty"` // the entity that the rule is about, at distance 1
	// Says is the name in its words by which it is here, where it is filed under others.
	Says string `json:"says,omitempty"`
}

// Aspect is a side of an entity, with claims.
type Aspect struct {
	Name        string  `json:"name"` // "" is of what has no aspect yet
	Weight      float64 `json:"weight"`
	Claims      int     `json:"claims"`      // constraints included
	Constraints int     `json:"constraints"` // of these; they are not among the attributes
	Attributes  []Claim `json:"attributes"`
}

// Dependency is a dependency of an entity, or on it.
type Dependency struct {
	Name     string  `json:"name"` // of the other end
	Type     string  `json:"type"`
	Strength float64 `json:"strength"`
	Claim    Claim   `json:"claim"`
}

// Options configure a view; the zero value works.
type Options struct {
	Now       func() time.Time        // default time.Now
	Stands    func(ken.Evidence) bool // as of ken.Claim.Support; nil: all of it
	DecayDays int                     // as of ken.Support.At
	Utility   structure.Utility       // for the weight of aspects; nil counts nothing

	Aspects    int // most aspects; default DefaultAspects
	Attributes int // most attributes of an aspect; default DefaultAttributes
	Links      int // most dependencies of each direction; default DefaultLinks
	// Superseded also shows claims that were replaced, at most Links.
	Superseded bool
}

// Defaults of Options.
const (
	DefaultAspects    = 20
	DefaultAttributes = 20
	DefaultLinks      = 64
)

func options(change []func(*Options)) Options {
	o := Options{Aspects: DefaultAspects, Attributes: DefaultAttributes, Links: DefaultLinks}
	for _, f := range change {
		f(&o)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
