package table_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/embed/table"
)

func ExampleModel_EmbedQuery() {
	m, err := table.New([]string{"cat", "dog", "melanie"}, []float32{1, 0, 0.9, 0.1, 0, 1}, 2, table.Info{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a chat of Melanie's her name says nothing.
	v := m.EmbedQuery("Melanie's dog", func(word string) float64 {
		if word == "melanie" {
			return 0
		}
		return 1
	})
	cat := m.EmbedQuery("cat", nil)
	fmt.Printf("%.2f\n", v[0]*cat[0]+v[1]*cat[1])
	// Output: 0.99
}

func ExampleWords() {
	table.Words("parseHTTPHeader of Café Müller", func(w []byte) { fmt.Print(string(w), " ") })
	// Output: parse http header of cafe muller
}
