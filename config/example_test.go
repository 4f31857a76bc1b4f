package config_test

import (
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

func ExampleParse() {
	c, err := config.Parse([]byte("retrieval:\n  deadline: 80ms\n"))
	fmt.Println(c.Retrieval.Deadline, c.Budget.Chars, err)

	_, err = config.Parse([]byte("embed_model: nomic-embed-text\n"))
	fmt.Println(err)
	fmt.Println("Try:", ken.Hint(err))
	// Output:
	// 80ms 6000 <nil>
	// embed_model: unknown key (line 1)
	// Try: Use knowledge.embed_model (embed_model under knowledge).
}

func ExampleConfig_Set() {
	c := config.Default()
	fmt.Println(c.Set("retrieval.legs.keyword", "80"))
	fmt.Println(c.Set("retrieval.legs.keyword", "lots"))
	fmt.Println(c.Get("retrieval.legs.keyword"))
	// Output:
	// <nil>
	// retrieval.legs.keyword: "lots" is not a whole number from 1 to 1000
	// 80 <nil>
}
