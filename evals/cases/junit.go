package cases

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The JUnit format as CI systems read it: a suite for each file.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []*junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     string   `xml:"time,attr"`
		Cases    []junitCase

		elapsed time.Duration
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"` // seconds
		Failure *junitFailure // a case has one at most
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		XMLName xml.Name `xml:"failure"`
		Message string   `xml:"message,attr"`
		Type    string   `xml:"type,attr"` // the first expectation that was not met
		Text    string   `xml:",cdata"`
	}
)

// WriteJUnit writes the results as JUnit XML, for CI systems.
func WriteJUnit(w io.Writer, results []Result) error {
	all := junitSuites{}
	suites := map[string]*junitSuite{}
	var total time.Duration
	for i := range results {
		r := &results[i]
		s := suites[r.Case.File]
		if s == nil {
			s = &junitSuite{Name: r.Case.File}
			suites[r.Case.File] = s
			all.Suites = append(all.Suites, s)
		}
		c := junitCase{Name: r.Case.Name, Class: r.Case.File, File: r.Case.File, Line: r.Case.Line, Time: seconds(r.Elapsed),
			Out: strings.Join(r.Notes, "\n")}
		if !r.OK() {
			f := r.Failures[0]
			c.Failure = &junitFailure{Message: f.Check + ": want " + f.Want, Type: f.Check, Text: "\n" + r.Explain("")}
			s.Failures++
			all.Failures++
		}
		s.Cases = append(s.Cases, c)
		s.elapsed += r.Elapsed
		s.Tests++
		all.Tests++
		total += r.Elapsed
		s.Time = seconds(s.elapsed)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
