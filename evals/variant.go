package evals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// variant is one configuration that is measured.
type variant struct {
	name     string // the mode, and what is varied
	mode     Mode
	settings []Setting // of the axes
	cfg      config.Config
}

// maxVariants bounds a grid: beyond it, somebody has mistyped a range.
const maxVariants = 500

// patience replaces the deadlines of a turn: a figure must not depend on how busy
// the machine is. Latencies tell whether a turn would have been late.
const patience = 30 * time.Second

// ours are keys that a measurement sets by itself.
var ours = []string{"knowledge.db_path", "knowledge.owner", "telemetry.events", "middleware.events", "middleware.knowledge"}

// variants lists every combination of modes and values, modes outermost.
func variants(o *Options) ([]variant, error) {
	base := *o.Config
	if !slices.Contains(o.touched(), "retrieval.deadline") {
		base.Retrieval.Deadline = patience
	}
	if !slices.Contains(o.touched(), "knowledge.embed_timeout") {
		base.Knowledge.EmbedTimeout = patience
	}
	for _, s := range o.Set {
		if err := assign(&base, &s); err != nil {
			return nil, err
		}
	}
	grid := [][]Setting{nil}
	for _, axis := range o.Vary {
		if len(axis.Values) == 0 {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: axis.Key, Msg: "no values to try", Try: "Write it as rrf_k=20,60,120."}
		}
		var next [][]Setting
		for _, cell := range grid {
			for _, v := range axis.Values {
				next = append(next, append(slices.Clone(cell), Setting{axis.Key, v}))
			}
		}
		if grid = next; len(grid)*len(o.Modes) > maxVariants {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "vary", Msg: fmt.Sprintf("more than %d combinations", maxVariants), Try: "Try fewer values at once."}
		}
	}
	if o.Ablate {
		for _, cell := range grid {
			for _, key := range signals() {
				grid = append(grid, append(slices.Clone(cell), Setting{key, "0"}))
			}
		}
	}
	var out []variant
	for _, m := range o.Modes {
		for _, cell := range grid {
			v, err := combine(base, m, cell)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// signals are the keys of the ranker's signals, each of which 0 switches off.
func signals() (keys []string) {
	for _, key := range config.Keys() {
		if strings.HasPrefix(key, "retrieval.signals.") {
			keys = append(keys, key)
		}
	}
	return keys
}

func combine(base config.Config, m Mode, cell []Setting) (variant, error) {
	v := variant{mode: m, cfg: base}
	m.apply(&v.cfg)
	parts := []string{string(m)}
	for _, s := range cell {
		short := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		if err := assign(&v.cfg, &s); err != nil {
			return v, err
		}
		v.settings = append(v.settings, s)
		parts = append(parts, short+"="+s.Value)
	}
	v.name = strings.Join(parts, " ")
	v.cfg.Middleware.Knowledge, v.cfg.Middleware.Events = true, false
	if err := v.cfg.Validate(); err != nil {
		return v, fmt.Errorf("%s: %w", v.name, err)
	}
	return v, nil
}

// assign sets a key, and writes its full name into s.
func assign(c *config.Config, s *Setting) error {
	key, err := Resolve(s.Key, s.Value)
	if err != nil {
		return err
	}
	if slices.Contains(ours, key) {
		return &ken.Error{Code: ken.CodeInvalid, Field: key, Msg: "is set by the measurement itself", Try: "Vary another key."}
	}
	s.Key = key
	return c.Set(key, s.Value)
}

// touched lists the full names of the keys that somebody set on purpose.
func (o *Options) touched() (keys []string) {
	add := func(name string, values ...string) {
		if key, err := Resolve(name, values...); err == nil {
			keys = append(keys, key)
		}
	}
	for _, s := range o.Set {
		add(s.Key, s.Value)
	}
	for _, a := range o.Vary {
		add(a.Key, a.Values...)
	}
	return keys
}

// Resolve returns the full name of a configuration key that may be written by its
// end, such as rrf_k. Where several keys end alike (floor is a switch and a
// number) the one that takes all the values is meant. An unknown name and one
// that stays ambiguous are ErrInvalid.
func Resolve(name string, values ...string) (string, error) {
	var ends, fits []string
	for _, key := range config.Keys() {
		if key == name {
			return key, nil
		}
		if strings.HasSuffix(key, "."+name) {
			ends = append(ends, key)
			if accepts(key, values) {
				fits = append(fits, key)
			}
		}
	}
	switch {
	case len(ends) == 1:
		return ends[0], nil
	case len(fits) == 1:
		return fits[0], nil
	case len(ends) == 0:
		_, err := config.Default().Get(name) // which names the nearest
		return "", err
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "several keys end so", Try: "Write one of " + strings.Join(ends, ", ") + "."}
}

func accepts(key string, values []string) bool {
	c := config.Default()
	for _, v := range values {
		if c.Set(key, v) != nil {
			return false
		}
	}
	return true
}
