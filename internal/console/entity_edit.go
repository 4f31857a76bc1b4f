package console

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/store"
)

// editing is a handler that changes the entity of the path and goes back to its page.
func editing(did string, do func(v *visit, e *edit.Editor, name string) error) func(*visit) error {
	return func(v *visit) error {
		name := v.r.PathValue("name")
		err := v.withStore(func(s store.Engine) error { return do(v, v.desk(s).Editor(), name) })
		if err != nil {
			return err
		}
		return v.did(v.back(pathOf("entities", name)), did)
	}
}

// said is a value of the form without what surrounds it.
func (v *visit) said(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// renameEntity goes on to the page under the new name.
func renameEntity(v *visit) error {
	name := v.said("to")
	err := v.withStore(func(s store.Engine) error {
		_, err := v.desk(s).Editor().Rename(v.ctx(), v.r.PathValue("name"), name)
		return err
	})
	if err != nil {
		return err
	}
	return v.did(pathOf("entities", name), "renamed")
}

func mergeEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Merge(v.ctx(), name, v.said("into"), v.said("reason"))
	return err
}

func aliasEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Alias(v.ctx(), name, v.said("other"), v.said("reason"))
	return err
}

func splitEntity(v *visit, e *edit.Editor, _ string) error {
	_, err := e.Split(v.ctx(), v.said("alias"), v.said("reason"))
	return err
}

func describeEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Describe(v.ctx(), name, v.said("type"), v.said("text"))
	return err
}

// describeNew describes an entity that may not be known yet, by the name in the form.
func describeNew(v *visit) error {
	name := v.said("name")
	err := v.withStore(func(s store.Engine) error { return describeEntity(v, v.desk(s).Editor(), name) })
	if err != nil {
		return err
	}
	return v.did(pathOf("entities", name), "described")
}

func ruleEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.AddConstraint(v.ctx(), edit.NewConstraint{Text: v.said("text"), Entities: []string{name}, Aspect: v.said("aspect")})
	return err
}

// Which way a new dependency leads.
const (
	dependsOn = "on" // the entity depends on the other one
	neededBy  = "by"
)

func linkEntity(v *visit, e *edit.Editor, name string) error {
	source, target := name, v.said("other")
	switch v.said("way") {
	case dependsOn:
	case neededBy:
		source, target = target, source
	default:
		return &ken.Error{Code: ken.CodeInvalid, Field: "way", Msg: "says neither which of the two depends on the other", Try: "Choose one of the two ways."}
	}
	strength := 0.0
	if s := v.said("strength"); s != "" {
		var err error
		if strength, err = strconv.ParseFloat(s, 64); err != nil {
			return &ken.Error{Code: ken.CodeInvalid, Field: "strength", Msg: "is no number", Try: "Give a number from 0 to 1."}
		}
	}
	_, err := e.AddDependency(v.ctx(), source, v.said("type"), target, strength)
	return err
}

func unlinkEntity(v *visit, e *edit.Editor, _ string) error {
	_, err := e.RemoveDependency(v.ctx(), v.said("source"), v.said("type"), v.said("target"), v.said("reason"))
	return err
}
