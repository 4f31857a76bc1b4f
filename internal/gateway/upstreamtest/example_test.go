package upstreamtest_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

func ExampleRecording() {
	a := upstreamtest.Recording("error_429")
	fmt.Println(a.Status, a.Get("Retry-After"))
	a = upstreamtest.CutAt(upstreamtest.Recording("chat_stream"), 10)
	fmt.Printf("%s\n", a.Body())
	// Output:
	// 429 20
	// data: {"id
}
