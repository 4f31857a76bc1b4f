package components

import "testing"

func TestOf(t *testing.T) {
	edges := map[int][]int{0: {1}, 1: {2}, 2: {0, 3}, 4: {4, 3}, 5: {4, 0}}
	got := Of(6, func(i int) []int { return edges[i] })
	want := [][]int{{3}, {0, 1, 2}, {4}, {5}}
	if len(got) != len(want) {
		t.Fatal(got)
	}
	for i := range want {
		for k := range want[i] {
			if got[i][k] != want[i][k] {
				t.Fatal(got)
			}
		}
	}
	// A long way needs no deep stack.
	if n := len(Of(100_000, func(i int) []int { return []int{min(i+1, 99_999)} })); n != 100_000 {
		t.Error(n)
	}
}
