package drift_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
)

// FuzzParse checks every manifest: no panic, faults have a line and a Try, and a valid manifest answers every query.
func FuzzParse(f *testing.F) {
	f.Add(pascal, "src/Core/a.cs")
	f.Add("layers:\n  - {name: a, paths: ['**/x/*.go', .], may_depend_on: ['*']}\nstrict: true\ntests: no\n", "a/x/b.go")
	f.Add("layers:\n- name: a\n  paths: [a?b*, \"\\u00e9\"]\n- {name: b, paths: b}\n", "aéb")
	f.Add("layers: &a [*a]\n", "")
	f.Fuzz(func(t *testing.T, text, file string) {
		m, err := drift.Parse("m.yaml", []byte(text))
		if err != nil {
			if m != nil || !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
				t.Errorf("%v, %v", m, err)
			}
			for line := range strings.SplitSeq(err.Error(), "\nm.yaml:") {
				if rest := strings.TrimLeft(strings.TrimPrefix(line, "m.yaml:"), "0123456789"); !strings.HasPrefix(rest, ": ") || rest == line {
					t.Errorf("no line in %q", line)
				}
			}
			return
		}
		names := map[string]bool{"": true}
		for _, l := range m.Layers {
			if names[l.Name] || len(l.Paths) == 0 || l.Line < 1 || !m.Permits(l.Name, l.Name) {
				t.Errorf("%+v", l)
			}
			names[l.Name] = true
			for _, to := range l.MayDependOn {
				if to != drift.Everything && !m.Permits(l.Name, to) {
					t.Errorf("%s may depend on %s, and may not", l.Name, to)
				}
			}
		}
		if l := m.LayerOf(file); !names[l] {
			t.Errorf("%q is in %q", file, l)
		}
		m.Warnings()
	})
}

// FuzzParseBaseline checks that a baseline is read again after it was written.
func FuzzParseBaseline(f *testing.F) {
	f.Add([]byte(`{"version":1,"violations":[{"fingerprint":"a","rule":"layer-dependency","file":"b.go","import":"package:a<b>\u2028"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := drift.ParseBaseline("b.json", text)
		if err != nil {
			return
		}
		again, err := drift.ParseBaseline("b.json", b.JSON())
		if err != nil || len(again.Entries) != len(b.Entries) || string(again.JSON()) != string(b.JSON()) {
			t.Errorf("%v\n%s\n%s", err, b.JSON(), again.JSON())
		}
	})
}
