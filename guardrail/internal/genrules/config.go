package main

import "fmt"

// config is the part of gitleaks' configuration that is used.
type config struct {
	allow allowlist // for every rule
	rules []source
}

// source is a rule of gitleaks.
type source struct {
	id, regex, path string
	keywords        []string
	entropy         float64
	allow           []allowlist
}

// allowlist describes findings that are no secrets.
type allowlist struct {
	target    string // what the patterns are matched with: the secret if empty, else match or line
	condition string // AND: every part has to match
	regexes   []string
	stopwords []string
	paths     []string
}

// parse parses a configuration. An unknown table or key is an error, so that a new
// version is not used incompletely.
func parse(text string) (config, error) {
	var c config
	p := &parser{rest: text, line: 1}
	header := ""
	for {
		p.blank()
		if p.rest == "" {
			return c, nil
		}
		at := p.line
		if p.rest[0] == '[' {
			h, err := p.header()
			if err != nil {
				return c, fmt.Errorf("line %d: %w", at, err)
			}
			header = h
			if err := c.begin(header); err != nil {
				return c, fmt.Errorf("line %d: %w", at, err)
			}
			continue
		}
		key, value, err := p.pair()
		if err == nil {
			err = c.put(header, key, value)
		}
		if err != nil {
			return c, fmt.Errorf("line %d: %w", at, err)
		}
	}
}

func (c *config) begin(header string) error {
	switch header {
	case "[allowlist]":
	case "[[rules]]":
		c.rules = append(c.rules, source{})
	case "[[rules.allowlists]]":
		if len(c.rules) == 0 {
			return fmt.Errorf("%s before the first rule", header)
		}
		r := &c.rules[len(c.rules)-1]
		r.allow = append(r.allow, allowlist{})
	default:
		return fmt.Errorf("unknown table %s", header)
	}
	return nil
}

// put sets a key of the current table.
func (c *config) put(header, key string, value any) error {
	var targets map[string]any
	var allow *allowlist
	switch header {
	case "":
		targets = map[string]any{"title": new(string), "minVersion": new(string)}
	case "[allowlist]":
		allow = &c.allow
	case "[[rules]]":
		r := &c.rules[len(c.rules)-1]
		targets = map[string]any{"id": &r.id, "description": new(string), "regex": &r.regex, "path": &r.path,
			"keywords": &r.keywords, "entropy": &r.entropy, "secretGroup": new(float64)}
	case "[[rules.allowlists]]":
		r := &c.rules[len(c.rules)-1]
		allow = &r.allow[len(r.allow)-1]
	}
	if allow != nil {
		targets = map[string]any{"description": new(string), "condition": &allow.condition, "regexTarget": &allow.target,
			"regexes": &allow.regexes, "stopwords": &allow.stopwords, "paths": &allow.paths}
	}
	var ok bool
	switch target := targets[key].(type) {
	case *string:
		*target, ok = value.(string)
	case *float64:
		*target, ok = value.(float64)
	case *[]string:
		*target, ok = value.([]string)
	default:
		return fmt.Errorf("unknown key %s in table %q", key, header)
	}
	if !ok {
		return fmt.Errorf("key %s: %T is of the wrong type", key, value)
	}
	return nil
}
