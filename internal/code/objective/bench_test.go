package objective

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkParse100Tasks(b *testing.B) {
	o := Objective{ID: "OBJ-0001", Title: "Ship", Status: Active, Created: noon, Updated: noon}
	for i := range 100 {
		o.Tasks = append(o.Tasks, Task{Text: fmt.Sprint("step ", i), Done: i%2 == 0})
	}
	text := render(&o)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Parse("OBJ-0001.yaml", text); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// BenchmarkLink measures a complete edit: the lock, the file, and two syncs to disk.
func BenchmarkLink(b *testing.B) {
	s, _ := project(b, nil)
	if _, err := s.Create(b.Context(), Draft{Title: "Ship", Tasks: []string{"a", "b"}}); err != nil {
		b.Fatal(err)
	}
	done := false
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Update(b.Context(), "1", Update{Tasks: []Task{{Text: "a", Done: done}, {Text: "b"}}}); err != nil {
			b.Fatal(err)
		}
		done = !done
	}
}

// BenchmarkList10 measures the cost for a turn if nothing has changed.
func BenchmarkList10(b *testing.B) {
	s, _ := project(b, nil)
	for i := range 10 {
		if _, err := s.Create(b.Context(), Draft{Title: fmt.Sprint("Ship ", i), Tasks: []string{"Design", "Implement", "Test"}}); err != nil {
			b.Fatal(err)
		}
	}
	s.o.Now = func() time.Time { return time.Now().Add(time.Hour) } // else the files are too new to be trusted
	b.ReportAllocs()
	for b.Loop() {
		if list, _, err := s.List(b.Context(), Active); err != nil || len(list) != 10 {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkSummary(b *testing.B) {
	list := some()
	b.ReportAllocs()
	for b.Loop() {
		if Summary(list, 400) == "" {
			b.Fatal("nothing")
		}
	}
}
