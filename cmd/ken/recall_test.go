package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzParseQuestion(f *testing.F) {
	for _, s := range []string{"why?", `{"id":1,"question":"why?","scope":"run:1"}`, `{"question":""}`, `{`, `{"id":[1,{"a":null}],"question":"x"} y`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.TrimSpace(line) == "" {
			return // the batch skips it
		}
		q, err := parseQuestion(line)
		if err != nil {
			return
		}
		if strings.TrimSpace(q.Question) == "" {
			t.Errorf("%q is an empty question", line)
		}
		if _, err := json.Marshal(batchAnswer{batchQuestion: q}); err != nil {
			t.Errorf("%q can't be answered: %v", line, err)
		}
	})
}
