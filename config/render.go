package config

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// lineWidth is the width at which comments of the rendered file wrap.
const lineWidth = 80

// YAML renders the configuration as a file, with every key and its meaning above it.
// Parse reads it back to an equal Config. config.example.yaml is the result for
// Default.
func (c Config) YAML() string {
	var b strings.Builder
	b.WriteString("# The configuration of Ken. Every key is here with its default, and every key may\n" +
		"# be left out: an empty file is a complete configuration. Ken looks for the file\n" +
		"# that KEN_CONFIG names, then .ken/config.yaml, then ken.yaml in the project's root.\n" +
		"# Your own $XDG_CONFIG_HOME/ken/config.yaml lies beneath it. Addresses, keys, commands\n" +
		"# and the like in a project's file count after ken trust: see docs/trust.md.\n")
	for _, s := range c.sections() {
		parent, name := split(s.name)
		indent := ""
		if parent != "" {
			indent = "  "
		}
		b.WriteByte('\n')
		if s.isList() {
			comment(&b, indent, s.doc+" "+s.keys[0].doc)
			b.WriteString(indent + name + ":" + s.keys[0].elements(indent) + "\n")
			if len(s.keys[0].get()) == 0 {
				for line := range strings.Lines(s.keys[0].example) {
					b.WriteString(indent + "#" + line)
				}
			}
			continue
		}
		comment(&b, indent, s.doc)
		b.WriteString(indent + name + ":\n")
		indent += "  "
		for i, k := range s.keys {
			if i > 0 {
				b.WriteByte('\n')
			}
			comment(&b, indent, k.doc)
			b.WriteString(indent + strings.TrimPrefix(k.path, s.name+".") + ": " + k.value(k.get()))
			if k.brief != "" {
				b.WriteString(" # " + k.brief)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// elements formats a list, one element per line.
func (k *key) elements(indent string) string {
	words := k.get()
	if len(words) == 0 {
		return " []"
	}
	var b strings.Builder
	for _, w := range words {
		b.WriteString("\n" + indent + "  - " + w)
	}
	return b.String()
}

// comment writes text as wrapped comment lines.
func comment(b *strings.Builder, indent, text string) {
	width := 0
	for word := range strings.FieldsSeq(text) {
		if width == 0 || width+1+len(word) > lineWidth {
			if width > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(indent + "#")
			width = len(indent) + 1
		}
		b.WriteString(" " + word)
		width += 1 + len(word)
	}
	b.WriteByte('\n')
}

// value formats words as YAML.
func (k *key) value(words []string) string {
	var spelled []string
	for _, w := range words {
		if k.text() {
			w = scalar(w)
		}
		spelled = append(spelled, w)
	}
	if k.list {
		return "[" + strings.Join(spelled, ", ") + "]"
	}
	return spelled[0]
}

var (
	plain    = lazyregexp.New(`^([0-9]+(ms|[smh])|[A-Za-z/.][A-Za-z0-9_./-]*)$`)
	reserved = lazyregexp.New(`(?i)^(true|false|null|yes|no|on|off|y|n|\.inf|\.nan)$`)
)

// scalar formats a string, with quotes unless YAML can only read it as that string.
func scalar(s string) string {
	if plain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
