package console

import (
	"errors"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// settingsForm is what a turn may be tried with, as the address has it.
type settingsForm struct {
	Fields []settingField
	Config config.Config // the settings in force with those of the form; of use while nothing is wrong
	Given  bool          // the address says at least one of them
	Wrong  []string      // labels of the fields that can't be used
	Other  int           // fields that differ from what is in force
}

// settingField is one setting.
type settingField struct {
	Key, Label, Hint string
	Value, Now       string   // as the form has it, and as it is in force
	Choices          []string // nil for one that is written
	Number           bool
	Msg, Try         string // what is wrong with the value; "" when nothing is
}

// tryable are the settings that the form has, by their keys in the configuration. mode is
// none of those: it is two switches.
var tryable = []settingField{
	{Key: modeField, Label: "Search", Hint: "by words and meaning, or by one of them", Choices: []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector)}},
	{Key: "retrieval.weight", Label: "Weight", Hint: "how deep to go", Choices: []string{"none", "low", "default", "high"}},
	{Key: "retrieval.min_trust", Label: "Least trust", Hint: "who may speak at all", Choices: []string{"external", "agent", "operator"}},
	{Key: "retrieval.rank", Label: "Order", Hint: "what orders the pool", Choices: []string{"evidence", "rrf", "weighted"}},
	{Key: "retrieval.floor", Label: "Floor", Hint: "least evidence, 0 to 1", Number: true},
	{Key: "knowledge.top_k", Label: "Most items", Hint: "of what was searched for", Number: true},
	{Key: "budget.chars", Label: "Characters", Hint: "of the block", Number: true},
	{Key: "budget.memory_chars", Label: "Memory", Hint: "characters, beside the block’s", Number: true},
	{Key: "retrieval.scopes", Label: "Scopes", Hint: "such as repo:github.com/acme/payments; none is all"},
	{Key: "structure.enabled", Label: "Entities and rules", Choices: []string{"true", "false"}},
	{Key: "middleware.graph", Label: "Code", Choices: []string{"true", "false"}},
}

const modeField = "mode"

// settings reads the form from the address. What the address does not say is as it is in
// force; scopes are those that a turn had, nil for the configured ones. A value that can't
// be used stays in its field.
func (v *visit) settings(scopes []ken.Scope) (settingsForm, error) {
	f := settingsForm{Config: v.con.l.Config()}
	if scopes != nil {
		f.Config.Retrieval.Scopes = scopes
	}
	q := v.r.URL.Query()
	for _, field := range tryable {
		now, err := settingOf(&f.Config, field.Key)
		if err != nil {
			return f, err
		}
		field.Now, field.Value = now, now
		if q.Has(field.Key) {
			f.Given = true
			field.Value = strings.TrimSpace(q.Get(field.Key))
		}
		f.Fields = append(f.Fields, field)
	}
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Value == field.Now {
			continue
		}
		f.Other++
		f.refuse(field.Key, setSetting(&f.Config, field.Key, field.Value))
	}
	if len(f.Wrong) == 0 {
		if err := f.Config.Validate(); err != nil && !f.refuse("", err) {
			return f, err
		}
	}
	return f, nil
}

// refuse notes that a value can't be used, at the field that the error names or else at
// the one with the key. It reports whether there is such a field.
func (f *settingsForm) refuse(key string, err error) bool {
	var e *ken.Error
	if !errors.As(err, &e) {
		return err == nil
	}
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Key == key || field.Key == e.Field {
			field.Msg, field.Try = e.Msg, e.Try
			f.Wrong = append(f.Wrong, field.Label)
			return true
		}
	}
	return false
}

// settingOf is a setting as text.
func settingOf(c *config.Config, key string) (string, error) {
	if key != modeField {
		return c.Get(key)
	}
	switch m := &c.Middleware; {
	case m.Keyword && m.Vector:
		return string(ken.ModeHybrid), nil
	case m.Vector:
		return string(ken.ModeVector), nil
	}
	return string(ken.ModeKeyword), nil
}

func setSetting(c *config.Config, key, value string) error {
	if key != modeField {
		return c.Set(key, value)
	}
	mode, err := ken.ParseMode(value)
	if err != nil {
		return err
	}
	c.Middleware.Keyword, c.Middleware.Vector = mode != ken.ModeVector, mode != ken.ModeKeyword
	return nil
}
