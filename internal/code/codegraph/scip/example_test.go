package scip_test

import (
	"fmt"
	"os"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

func ExampleRead() {
	index, err := os.Open("testdata/zoo/py.scip")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer index.Close()
	ref, report, err := scip.Read(index, "testdata/zoo", scip.Options{Made: time.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Tool, report.Symbols)
	for _, e := range ref.Files[0].Edges[:3] {
		fmt.Println(e.From, e.Kind, e.To)
	}
	// Output:
	// scip-python 0.6.6 9
	// type:farm.Cow inherits type:farm.Animal
	// type:farm.Cow references type:farm.Animal
	// method:farm.Cow.sound implements method:farm.Animal.sound
}
