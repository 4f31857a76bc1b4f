package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/embed/exchange"
)

// bodyLimit is the maximum size of a response: enough for 64 vectors of 16,384 numbers
// in JSON.
const bodyLimit = 64 << 20

// aboutModel reports whether an error response is about the model's name. Gateways use
// different statuses for it; some use 400.
func aboutModel(x *exchange.Exchange) bool {
	if x.Status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(x.Message() + " " + gjson.GetBytes(x.Body, "error.code").String())
	return strings.Contains(said, "model")
}

// decodeBase64 decodes a response with base64 vectors, which some gateways send
// unasked. err is the error of the usual decoding, returned if this fails too.
func decodeBase64(body []byte, err error) (api.EmbeddingResponse, error) {
	var answer api.EmbeddingResponseBase64
	if json.Unmarshal(body, &answer) != nil {
		return api.EmbeddingResponse{}, err
	}
	return answer.ToEmbeddingResponse()
}

// inOrder sorts n vectors by index, in the order of their texts. If the gateway sends
// no indexes, the order stays.
func inOrder(data []api.Embedding, n int) ([][]float32, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(data), n)
	}
	numbered := false
	for _, d := range data {
		numbered = numbered || d.Index != 0
	}
	vectors := make([][]float32, n)
	for i, d := range data {
		if numbered {
			i = d.Index
		}
		if i < 0 || i >= n || vectors[i] != nil {
			return nil, errors.New("vectors numbered otherwise than the texts")
		}
		if vectors[i] = d.Embedding; d.Embedding == nil {
			return nil, fmt.Errorf("no vector for text %d", i)
		}
	}
	return vectors, nil
}
