package calibrate_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
)

func ExampleCalibration_Apply() {
	c, err := calibrate.Parse([]byte(`{"model": "openai:small", "factor": 0.35, "usual": 0.6, "questions": 200}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := c.Apply(retriever.Options{})
	fmt.Println(c.Harms(), o.Weights.Cosine, o.Usual)
	// Output: false 0.35 0.6
}
