package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/embed/table"
)

// embeddingModel is an alias for Ken's own embedding model. It stays the same when the model is
// replaced by a better one. Vectors of different models must not be compared; the answer has the
// real name of the model.
const embeddingModel = "ken"

// embeddingsRequest holds the fields of an embeddings request that Ken reads.
type embeddingsRequest struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Format     string          `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`

	texts []string
}

// maxInputs and maxInputBytes are the limits of one request, as in the API.
const (
	maxInputs     = 2048
	maxInputBytes = 8 << 20
)

// serveEmbeddings answers an embeddings request if it is for Ken's own model or if there is no
// upstream. Otherwise done is false, and the request must be passed on.
func (c *call) serveEmbeddings() (done bool, f *fault) {
	if c.body == nil || c.skipReason() != "" {
		return false, nil
	}
	if f := c.readBody(); f != nil || !c.isWhole {
		if c.untouched == tooMany && c.up == nil {
			f = &fault{status: http.StatusServiceUnavailable, code: "too_many_requests", msg: "too much is read at once",
				try: "Try again soon, or raise gateway.look_bytes.", retry: 1}
		}
		return false, f
	}
	if json.Unmarshal(c.whole, &c.embeddings) != nil {
		c.embeddings = embeddingsRequest{}
	}
	mine := c.up == nil || c.embeddings.Model == embeddingModel
	if !mine {
		m, err := builtin.Open()
		mine = err == nil && c.embeddings.Model == m.Model()
	}
	if !mine {
		return false, nil
	}
	b, f := c.vectors(c.r.Context())
	if f != nil {
		return true, f
	}
	c.writeJSON(b)
	return true, nil
}

func (c *call) writeJSON(b []byte) {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(b) // the client may be gone
}

// vectors returns the answer to an embeddings request, from Ken's own model.
func (c *call) vectors(ctx context.Context) ([]byte, *fault) {
	m, err := builtin.Open()
	if err != nil {
		c.err = err
		return nil, faultOf(err)
	}
	w := &c.embeddings
	if err := w.check(m); err != nil {
		return nil, faultOf(err)
	}
	vs, err := m.Embed(ctx, w.texts)
	if err != nil {
		c.err = err
		return nil, faultOf(err)
	}
	return w.answer(m, vs), nil
}

// check validates the request and reads its texts.
func (w *embeddingsRequest) check(m *table.Model) error {
	if w.Dimensions != nil && *w.Dimensions != m.Dim() {
		return refuse("dimensions", "this model has "+strconv.Itoa(m.Dim())+" and no others", "Leave dimensions out.")
	}
	if w.Format != "" && w.Format != "float" && w.Format != "base64" {
		return refuse("encoding_format", "unknown format", "Use float or base64.")
	}
	var one string
	switch {
	case json.Unmarshal(w.Input, &one) == nil && bytes.HasPrefix(w.Input, []byte(`"`)):
		w.texts = []string{one}
	case json.Unmarshal(w.Input, &w.texts) != nil || len(w.texts) == 0:
		return refuse("input", "neither a string nor an array of strings", "Send texts: this model has tokens of its own, and knows no others.")
	case len(w.texts) > maxInputs:
		return refuse("input", strconv.Itoa(len(w.texts))+" texts", "Send at most "+strconv.Itoa(maxInputs)+" at once.")
	}
	total := 0
	for i, s := range w.texts {
		if s == "" {
			return refuse("input", "text "+strconv.Itoa(i)+" is empty", "Leave empty texts out.")
		}
		total += len(s)
	}
	if total > maxInputBytes {
		return refuse("input", strconv.Itoa(total)+" bytes", "Send at most "+strconv.Itoa(maxInputBytes)+" at once.")
	}
	return nil
}

func refuse(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`
}

// answer returns the vectors in the API's format. A text without any word that the model knows has
// a vector of zeros, which is similar to nothing.
func (w *embeddingsRequest) answer(m *table.Model, vs [][]float32) []byte {
	data := make([]embedding, len(vs))
	words := 0
	for i, v := range vs {
		if v == nil {
			v = make([]float32, m.Dim())
		}
		data[i] = embedding{"embedding", i, v}
		if w.Format == "base64" {
			data[i].Embedding = base64Floats(v)
		}
		words += m.Coverage(w.texts[i]).Words
	}
	b, _ := json.Marshal(map[string]any{"object": "list", "data": data, "model": m.Model(), // finite numbers and strings can always be marshaled
		"usage": map[string]int{"prompt_tokens": words, "total_tokens": words}})
	return b
}

// base64Floats encodes floats in the API's format: little endian, in base64.
func base64Floats(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// listModels answers with Ken's own model, if there is no upstream or it has no list.
func (c *call) listModels() *fault {
	b, err := modelList()
	if err != nil {
		c.err = err
		return faultOf(err)
	}
	c.writeJSON(b)
	return nil
}

func modelList() ([]byte, error) {
	m, err := builtin.Open()
	if err != nil {
		return nil, err
	}
	entry := func(id string) map[string]any {
		return map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "ken"}
	}
	return json.Marshal(map[string]any{"object": "list", "data": []any{entry(embeddingModel), entry(m.Model())}})
}

// localAnswer returns the function that answers if the upstream does not have the path; nil passes
// on the upstream's answer. Ken does not answer for an upstream that is down, or that has the path
// but not the model. Clients would then compare vectors of different models, and searches would
// find nothing.
func (c *call) localAnswer(resp *http.Response) func() ([]byte, *fault) {
	if c.route != embeddings && c.route != models || c.route == embeddings && !c.isWhole {
		return nil
	}
	switch resp.StatusCode {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
	case http.StatusNotFound:
		if c.route == embeddings && c.modelMissing(resp) {
			return nil
		}
	default:
		return nil
	}
	if c.route == models {
		return func() ([]byte, *fault) {
			b, err := modelList()
			if err != nil {
				return nil, faultOf(err)
			}
			return b, nil
		}
	}
	return func() ([]byte, *fault) { return c.vectors(c.r.Context()) }
}

// modelMissing reports whether the upstream's error is about the model, that is, whether it has
// other embedding models. It restores the body after reading it.
func (c *call) modelMissing(resp *http.Response) bool {
	const enough = 64 << 10
	b, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(b), resp.Body), resp.Body}
	if err != nil || resp.Header.Get("Content-Encoding") != "" {
		return true // can't be read: pass it on
	}
	text := string(b)
	return strings.Contains(text, "model_not_found") || c.embeddings.Model != "" && strings.Contains(text, c.embeddings.Model)
}

// replace replaces the upstream's answer by Ken's own.
func (c *call) replace(resp *http.Response, instead func() ([]byte, *fault)) error {
	_ = resp.Body.Close() // it is not needed
	b, f := instead()
	if f != nil {
		rec := &memoryResponse{header: http.Header{}}
		f.write(rec, c.errorFormat)
		c.fault = f
		resp.StatusCode, resp.Header, b = f.status, rec.header, rec.Bytes()
	} else {
		resp.StatusCode = http.StatusOK
		resp.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(b))}}
	}
	resp.Status, resp.Trailer = "", nil
	resp.ContentLength, resp.Body = int64(len(b)), io.NopCloser(bytes.NewReader(b))
	return nil
}

// memoryResponse is an http.ResponseWriter that writes to memory.
type memoryResponse struct {
	bytes.Buffer
	header http.Header
}

func (r *memoryResponse) Header() http.Header { return r.header }
func (r *memoryResponse) WriteHeader(int)     {}
