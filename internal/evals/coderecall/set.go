package coderecall

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kenlayer/ken"
)

// Kind is the type of a question.
type Kind string

// The kinds. How, Where, Why and What have an answer in the code, Test and History mostly
// elsewhere; Absent and Talk have none.
const (
	How     Kind = "how"
	Where   Kind = "where"
	Why     Kind = "why"
	What    Kind = "what" // what does a name do?
	Test    Kind = "test"
	History Kind = "history"
	Absent  Kind = "absent"
	Talk    Kind = "talk"
)

// Set holds the questions about one repository.
type Set struct {
	Repository string     `yaml:"repository"`
	Source     string     `yaml:"source"` // where its files come from: see Fetch
	Questions  []Question `yaml:"questions"`
}

// Question is one question with the places of its answer.
type Question struct {
	Ask    string   `yaml:"ask" json:"ask"`
	Kind   Kind     `yaml:"kind" json:"kind"`
	Code   string   `yaml:"code" json:"code,omitempty"`     // path of the file with the implementing code
	Marker string   `yaml:"marker" json:"marker,omitempty"` // regular expression for the implementing lines
	Also   []string `yaml:"also" json:"also,omitempty"`     // "path: text", both regular expressions

	marker *regexp.Regexp
	also   [][2]*regexp.Regexp
}

// Answerable reports whether the repository contains an answer.
func (q *Question) Answerable() bool { return q.Kind != Absent && q.Kind != Talk }

// Load reads one set, or those of a folder in the order of their names. An error names the file
// and the question.
func Load(path string) ([]Set, error) {
	names := []string{path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	if info.IsDir() {
		if names, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil || len(names) == 0 {
			return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "no questions: " + path + " holds no .yaml file", Err: err}
		}
	}
	var out []Set
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read questions: %w", err)
		}
		s, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// parse reads one set. An unknown field is an error.
func parse(data []byte) (s Set, err error) {
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.DisallowUnknownField()); err != nil {
		return s, &ken.Error{Code: ken.CodeInvalid, Msg: "not a set of questions", Err: err}
	}
	if s.Repository == "" || len(s.Questions) == 0 {
		return s, &ken.Error{Code: ken.CodeInvalid, Field: "repository", Msg: "a set needs a repository and questions"}
	}
	for i := range s.Questions {
		if err := s.Questions[i].compile(); err != nil {
			return s, fmt.Errorf("question %d, %q: %w", i+1, s.Questions[i].Ask, err)
		}
	}
	return s, nil
}

func (q *Question) compile() (err error) {
	fault := func(field, msg string) error { return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg} }
	if strings.TrimSpace(q.Ask) == "" {
		return fault("ask", "empty")
	}
	if !slices.Contains([]Kind{How, Where, Why, What, Test, History, Absent, Talk}, q.Kind) {
		return fault("kind", fmt.Sprintf("%q is none of how, where, why, what, test, history, absent and talk", q.Kind))
	}
	if q.Answerable() != (q.Marker != "" || len(q.Also) > 0) {
		return fault("marker", "a question with an answer needs a marker or an entry of also, one without must have neither")
	}
	if (q.Marker == "") != (q.Code == "") {
		return fault("code", "code and marker go together")
	}
	if q.Marker != "" {
		if q.marker, err = regexp.Compile(q.Marker); err != nil {
			return fault("marker", err.Error())
		}
	}
	for _, a := range q.Also {
		path, text, ok := strings.Cut(a, ": ")
		if !ok {
			return fault("also", fmt.Sprintf("%q has no \": \" between a path and a text", a))
		}
		p, err1 := regexp.Compile("^(?:" + path + ")$")
		t, err2 := regexp.Compile(text)
		if err := errors.Join(err1, err2); err != nil {
			return fault("also", err.Error())
		}
		q.also = append(q.also, [2]*regexp.Regexp{p, t})
	}
	return nil
}

// Check returns an error that names the markers that match nothing in the files of a repository.
func (s *Set) Check(root fs.FS) error {
	var faults []error
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Marker == "" {
			continue
		}
		data, err := fs.ReadFile(root, q.Code)
		if err == nil && !q.marker.Match(data) {
			err = fmt.Errorf("%s has nothing that the marker matches", q.Code)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("question %d, %q: %w", i+1, q.Ask, err))
		}
	}
	return errors.Join(faults...)
}
