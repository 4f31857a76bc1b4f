package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parser parses the part of TOML that gitleaks' configuration uses: tables, arrays
// of tables, basic and literal strings, numbers, and lists of strings.
type parser struct {
	rest string
	line int
}

var errCut = errors.New("the text is incomplete")

func (p *parser) skip(n int) {
	p.line += strings.Count(p.rest[:n], "\n")
	p.rest = p.rest[n:]
}

// blank skips white space and comments.
func (p *parser) blank() {
	for p.rest != "" {
		switch p.rest[0] {
		case ' ', '\t', '\r', '\n':
			p.skip(1)
		case '#':
			end := strings.IndexByte(p.rest, '\n')
			if end < 0 {
				end = len(p.rest)
			}
			p.skip(end)
		default:
			return
		}
	}
}

// header parses the line of a table, and returns it with its brackets.
func (p *parser) header() (string, error) {
	line, _, _ := strings.Cut(p.rest, "\n")
	h := strings.TrimSpace(line)
	if !strings.HasSuffix(h, "]") {
		return "", fmt.Errorf("%q is no table", h)
	}
	p.skip(len(line))
	return h, nil
}

// pair parses key = value.
func (p *parser) pair() (key string, value any, err error) {
	line, _, _ := strings.Cut(p.rest, "\n")
	key, _, ok := strings.Cut(line, "=")
	if !ok {
		return "", nil, fmt.Errorf("%q is no key with a value", line)
	}
	p.skip(len(key) + 1)
	value, err = p.value()
	return strings.TrimSpace(key), value, err
}

func (p *parser) value() (any, error) {
	p.blank()
	switch {
	case p.rest == "":
		return nil, errCut
	case p.rest[0] == '[':
		return p.list()
	case p.rest[0] == '"' || p.rest[0] == '\'':
		return p.text()
	}
	end := strings.IndexAny(p.rest, " \t\r\n#,]")
	if end < 0 {
		end = len(p.rest)
	}
	n, err := strconv.ParseFloat(p.rest[:end], 64)
	if err != nil {
		return nil, fmt.Errorf("%q is neither text nor a number", p.rest[:end])
	}
	p.skip(end)
	return n, nil
}

func (p *parser) list() ([]string, error) {
	p.skip(1)
	var out []string
	for {
		p.blank()
		switch {
		case p.rest == "":
			return nil, errCut
		case p.rest[0] == ']':
			p.skip(1)
			return out, nil
		case p.rest[0] != '"' && p.rest[0] != '\'':
			return nil, errors.New("a list of something else than text")
		}
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		if p.blank(); p.rest != "" && p.rest[0] == ',' {
			p.skip(1)
		}
	}
}

// text parses a string: verbatim in single or triple single quotes, with escapes in double quotes.
func (p *parser) text() (string, error) {
	for _, quote := range []string{"'''", "'"} {
		if !strings.HasPrefix(p.rest, quote) {
			continue
		}
		body, _, ok := strings.Cut(p.rest[len(quote):], quote)
		if !ok {
			return "", errCut
		}
		p.skip(len(body) + 2*len(quote))
		return body, nil
	}
	if strings.HasPrefix(p.rest, `"""`) {
		return "", errors.New(`text in """ is not read`)
	}
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '\n':
			return "", errCut
		case '"':
			s, err := strconv.Unquote(p.rest[:i+1]) // the escapes that are used are valid in Go, too
			if err != nil {
				return "", fmt.Errorf("read %s: %w", p.rest[:i+1], err)
			}
			p.skip(i + 1)
			return s, nil
		}
	}
	return "", errCut
}
