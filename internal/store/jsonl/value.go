package jsonl

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/kenlayer/ken"
)

// set reads a JSON value into target, which is one of the pointers that the
// tables in claim.go use. null leaves it as it is.
func set(path string, raw []byte, target any) error {
	if isNull(raw) {
		return nil
	}
	switch t := target.(type) {
	case *string:
		return scalar(path, "a string", raw, t)
	case *bool:
		return scalar(path, "true or false", raw, t)
	case *float64:
		return scalar(path, "a number", raw, t)
	case *int:
		return scalar(path, "a whole number", raw, t)
	case *uint64:
		return scalar(path, "a whole number from 0", raw, t)
	case **int:
		*t = new(int)
		return scalar(path, "a whole number", raw, *t)
	case *ken.Trust:
		var name string
		if err := scalar(path, "a string", raw, &name); err != nil {
			return err
		}
		if err := t.UnmarshalText([]byte(name)); err != nil {
			return invalid(path, "unknown value "+name, ken.Hint(err))
		}
		return nil
	case *time.Time:
		return setTime(path, raw, t)
	case *json.RawMessage:
		*t = append(json.RawMessage{}, raw...)
		return nil
	case *[]string:
		return list(path, raw, func(path string, raw []byte) error {
			var s string
			err := scalar(path, "a string", raw, &s)
			*t = append(*t, s)
			return err
		})
	case *ken.Scope:
		return object(path, raw, map[string]any{"type": (*string)(&t.Type), "id": &t.ID})
	case *ken.Actor:
		return object(path, raw, map[string]any{"type": &t.Type, "id": &t.ID})
	case *[]ken.Evidence:
		return list(path, raw, func(path string, raw []byte) error {
			var e ken.Evidence
			err := object(path, raw, evidenceTargets(&e))
			*t = append(*t, e)
			return err
		})
	case *[]ken.ClaimEvent:
		return list(path, raw, func(path string, raw []byte) error {
			var e ken.ClaimEvent
			err := object(path, raw, eventTargets(&e))
			*t = append(*t, e)
			return err
		})
	}
	panic(fmt.Sprintf("jsonl: no reader for %T", target))
}

func scalar(path, want string, raw []byte, target any) error {
	if isNull(raw) || json.Unmarshal(raw, target) != nil {
		return mismatch(path, want, raw)
	}
	return nil
}

const timeForms = "an RFC 3339 time, a date, or a number of seconds since 1970"

func setTime(path string, raw []byte, t *time.Time) error {
	switch kindOf(raw) {
	case "a string":
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return mismatch(path, timeForms, raw)
		}
		if s == "" {
			return nil
		}
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if at, err := time.Parse(layout, s); err == nil {
				*t = at.UTC()
				return nil
			}
		}
		return invalid(path, "unknown time "+s, "Write "+timeForms+": 2026-03-14T09:00:00Z, 2026-03-14 or 1773478800.")
	case "a number":
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil {
			return mismatch(path, timeForms, raw)
		}
		return fromSeconds(path, raw, seconds, t)
	}
	return mismatch(path, timeForms, raw)
}

// fromSeconds keeps microseconds: a float64 has no more of our century.
func fromSeconds(path string, raw []byte, seconds float64, t *time.Time) error {
	const end = 253402300800 // year 10000, in seconds
	if seconds < 0 || seconds >= end {
		return invalid(path, string(raw)+" is no number of seconds since 1970",
			"Write seconds, not milliseconds, or an RFC 3339 time.")
	}
	if seconds == 0 {
		return nil
	}
	whole, frac := math.Modf(seconds)
	*t = time.Unix(int64(whole), int64(math.Round(frac*1e6))*1e3).UTC()
	return nil
}
