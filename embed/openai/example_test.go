package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/openai"
)

func ExampleNew() {
	gateway := httptest.NewServer(embedtest.Gateway())
	defer gateway.Close()
	e, err := openai.New(openai.Options{BaseURL: gateway.URL + "/v1", Model: embedtest.GatewayModel})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	vectors, err := e.Embed(context.Background(), []string{"one text", "another"})
	fmt.Println(e.Model(), len(vectors), e.Dim(), err)
	// Output: openai:bag-of-words 2 64 <nil>
}
