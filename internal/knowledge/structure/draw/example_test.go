package draw_test

import (
	"fmt"
	"os"

	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

func Example() {
	g := entity.Graph{Root: "payments", Depth: 1,
		Nodes: []entity.Node{{Name: "payments", Display: "Payments", Type: "system", Records: 12, Constraints: 1}, {Name: "ledger", Type: "system", Depth: 1, Records: 4}},
		Edges: []entity.Edge{{Source: "payments", Target: "ledger", Type: "requires", Strength: 0.9}}}
	if err := draw.Mermaid(os.Stdout, g); err != nil {
		fmt.Println(err)
	}
	// Output:
	// flowchart LR
	//     n0(["Payments<br/>system · 12 records<br/>1 constraint"])
	//     n1["ledger<br/>system · 4 records"]
	//     n0 -->|"requires"| n1
	//     linkStyle 0 stroke-width:3.7px
}
