package objective

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const whole = `# kept by hand
id: OBJ-0001
title: "Ship the new login"   # for everyone
status: active
created: 2026-11-20T09:00:00Z
updated: 2026-11-21
owner: ann
tags: [auth, web]
priority: 3
links:
  decisions: [ADR-0012]
  sessions:
    - s-81

tasks:
  # first things first
  - text: Design
    done: true
    done_at: 2026-11-21T10:30:00Z
    by: agent-3
    claim: c-1
  - Implement # soon

  - text: "Test: all of it"
    done: false   # not yet
  # the end
description: |
  Everything that a person sees.

  And more.
`

func TestParse(t *testing.T) {
	o, problems := Parse(".ken/knowledge/objectives/OBJ-0001.yaml", []byte(whole))
	want := Objective{ID: "OBJ-0001", Path: ".ken/knowledge/objectives/OBJ-0001.yaml", Hash: o.Hash, Title: "Ship the new login", Description: "Everything that a person sees.\n\nAnd more.",
		Status: Active, Owner: "ann", Tags: []string{"auth", "web"}, Decisions: []string{"ADR-0012"}, Sessions: []string{"s-81"},
		Tasks:   []Task{{"Design", true, time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC), "agent-3", "c-1", 17}, {Text: "Implement", Line: 22}, {Text: "Test: all of it", Line: 24}},
		Created: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Updated: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, o); diff != "" || len(problems) > 0 {
		t.Error(problems, diff)
	}
	if p := o.Progress(); p != (Progress{1, 3}) || p.String() != "1 of 3" || p.Share() < 0.33 || p.Share() > 0.34 {
		t.Error(p)
	}
	if p := (&Objective{}).Progress(); p.Share() != 0 || p.String() != "0 of 0" {
		t.Error(p)
	}
}

// Other tools keep two lists, with keys in their own spelling.
func TestParseTwoLists(t *testing.T) {
	for name, src := range map[string]string{
		"pascal": "Id: OBJ-0007\nTitle: Ship\nStatus: Completed\nCreatedAt: 2026-11-20T09:00:00.123+02:00\nCompletedTasks:\n- Design\nRemainingTasks:\n- Implement\n- Test\n",
		"camel":  "id: OBJ-0007\ntitle: Ship\nstatus: completed\ncreatedAt: 2026-11-20T09:00:00.123+02:00\ncompletedTasks: [Design]\nremainingTasks: [Implement, Test]\n",
		"snake":  "title: Ship\nstatus: done\ncreated_at: 2026-11-20T09:00:00.123+02:00\ncompleted_tasks:\n  - title: Design\nremaining_tasks:\n  - title: Implement\n  - title: Test\n",
		"boxes":  "title: Ship\nstatus: Done\ncreated: 2026-11-20T09:00:00.123+02:00\ntasks:\n  - \"[x] Design\"\n  - '[ ] Implement'\n  - Test\n",
		"crlf":   "title: Ship\r\nstatus: done\r\ncreated: 2026-11-20T09:00:00.123+02:00\r\ntasks:\r\n  - task: Design\r\n    status: completed\r\n  - Implement\r\n  - Test\r\n",
	} {
		o, problems := Parse("x/obj-7.yml", []byte(src))
		want := Objective{ID: "OBJ-0007", Title: "Ship", Status: Done, Created: time.Date(2026, 11, 20, 7, 0, 0, 123e6, time.UTC), Tasks: []Task{{Text: "Design", Done: true}, {Text: "Implement"}, {Text: "Test"}}}
		if diff := cmp.Diff(want, o, cmpopts.IgnoreFields(Objective{}, "Path", "Hash"), cmpopts.IgnoreFields(Task{}, "Line")); diff != "" || len(problems) > 0 {
			t.Error(name, problems, diff)
		}
	}
}

func TestParseBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		src  string
		line int
		says string
	}{
		"tabs":       {"title: Ship\nstatus: paused\ntasks:\n\t- a\n", 4, "YAML"},
		"colon":      {"title: Ship\nstatus: paused\nowner: a: b\n", 3, "YAML"},
		"anchors":    {"title: Ship\nstatus: paused\ntags: &a [x]\nb: *a\n", 3, "anchor"},
		"status":     {"title: Ship\nstatus: perhaps\n", 2, "unknown status"},
		"time":       {"title: Ship\nstatus: paused\ncreated: yesterday\n", 3, "not a time"},
		"task":       {"title: Ship\nstatus: paused\ntasks:\n  - done: true\n", 4, "without a text"},
		"done":       {"title: Ship\nstatus: paused\ntasks:\n  - text: a\n    done: perhaps\n", 5, "done is"},
		"no list":    {"title: Ship\nstatus: paused\ntasks: all\n", 3, "not a list"},
		"id":         {"id: OBJ-0009\ntitle: Ship\nstatus: paused\n", 1, "the id is"},
		"no title":   {"status: paused\n", 0, "no title"},
		"latin-1":    {"title: Ship\nstatus: paused\nowner: f\xfcr\n", 0, "UTF-8"},
		"a list":     {"- title: Ship\n", 1, "not a list of settings"},
		"not text":   {"title: [a]\nstatus: paused\n", 1, "not text"},
		"huge":       {"title: Ship\nstatus: paused\n" + strings.Repeat("x: y\n", 1<<18), 0, "bytes"},
		"same key":   {"title: Ship\nstatus: paused\nstatus: done\n", 3, "already"},
		"deep":       {"title: Ship\nstatus: paused\nx: " + strings.Repeat("[", 9999) + "\n", 1, "nested"},
		"many tasks": {"title: Ship\nstatus: paused\ntasks:\n" + strings.Repeat("  - a\n", maxTasks+1), maxTasks + 4, "tasks; at most"},
		"empty":      {"", 0, "no title"},
		"old ends":   {"title: Ship\rstatus: paused\r", 1, "carriage return"},
		"binary":     {"title: Ship\nstatus: paused\n\x00", 0, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			o, problems := Parse("OBJ-0001.yaml", []byte(tt.src))
			if strings.Contains(tt.src, "title: Ship\nstatus: paused\n") && name != "huge" && (o.Title != "Ship" || o.Status != Paused && name != "same key") {
				t.Errorf("not all was read: %+v", o)
			}
			if len(problems) == 0 || problems[0].Line != tt.line || !strings.Contains(problems[0].Text, tt.says) || problems[0].Try == "" {
				t.Errorf("%+v, want line %d", problems, tt.line)
			}
		})
	}
}
