package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	api "github.com/sashabaranov/go-openai"
)

// bodyLimit is the maximum size of a response: enough for 64 vectors of 16,384 numbers
// in JSON.
const bodyLimit = 64 << 20

var errTooLong = fmt.Errorf("the answer is longer than %d MiB", bodyLimit>>20)

// exchange sends one request for go-openai and records the response, because the
// library's errors don't contain a response that it could not decode.
type exchange struct {
	http   *http.Client
	status int // 0 when there was no response
	header http.Header
	body   []byte
}

// Do implements go-openai's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := x.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit+1))
	if err != nil {
		return nil, err
	}
	if len(body) > bodyLimit {
		return nil, errTooLong
	}
	x.status, x.header, x.body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (x *exchange) ok() bool { return x.status >= 200 && x.status < 300 }

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
