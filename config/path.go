package config

import "strings"

// Keys returns every dotted key, in the order of the file.
func Keys() []string {
	var c Config
	var paths []string
	for _, k := range c.keys() {
		paths = append(paths, k.path)
	}
	return paths
}

// Get returns the value at a dotted key as text: lists joined by commas, nothing
// quoted. Set reads it back. An unknown key is an ErrInvalid that names the
// nearest one.
func (c Config) Get(path string) (string, error) {
	k, err := c.key(path)
	if err != nil {
		return "", err
	}
	return strings.Join(k.get(), ","), nil
}

// Set changes the value at a dotted key, from text as Get returns it. What is
// not allowed at that key is an ErrInvalid and changes nothing; rules that join
// several keys are left to Validate. An element with a comma in it can only be
// written in a file.
func (c *Config) Set(path, text string) error {
	k, err := c.key(path)
	if err != nil {
		return err
	}
	words := []string{text}
	if k.list {
		words = nil
		for w := range strings.SplitSeq(text, ",") {
			if w = strings.TrimSpace(w); w != "" {
				words = append(words, w)
			}
		}
	}
	return k.at(k.set(words))
}

func (c *Config) key(path string) (*key, error) {
	sections := c.sections()
	for _, s := range sections {
		for i := range s.keys {
			if s.keys[i].path == path {
				return &s.keys[i], nil
			}
		}
	}
	for _, s := range sections {
		if s.name == path {
			var names []string
			for _, k := range s.keys {
				names = append(names, k.path)
			}
			return nil, wrong(path, "a section, not a key", "Use one of "+strings.Join(names, ", ")+".")
		}
	}
	return nil, unknown(path, sections)
}
