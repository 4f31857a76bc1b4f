package knownitem_test

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
)

func ExampleGenerate() {
	claims := []ken.Claim{
		fact("boat", "", "Anna: I bought a turquoise sailing boat last summer."),
		fact("lamp", "", "When the lighthouse lamp goes out, the keeper lights the pilot flame by hand."),
	}
	set, err := knownitem.Generate(context.Background(), each(claims),
		knownitem.Options{N: 2, Kinds: []knownitem.Kind{knownitem.KindQuestion}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range set.Questions {
		fmt.Printf("%s: %s\n", q.Want, q.Text)
	}
	// Unordered output:
	// boat: When did Anna buy a turquoise sailing boat?
	// lamp: What happens when the lighthouse lamp goes out?
}
