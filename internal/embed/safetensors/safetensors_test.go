package safetensors_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/embed/safetensors"
)

func file(header, data string) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func TestParse(t *testing.T) {
	tensors, err := safetensors.Parse(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]}}`,
		"\x00\x3c\x00\xc0\x40\x40"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := tensors["a"].Floats()
	if diff := cmp.Diff([]float32{1, -2}, a); diff != "" || err != nil {
		t.Errorf("F16 (-want +got), %v:\n%s", err, diff)
	}
	if diff := cmp.Diff([]int{1, 2}, tensors["a"].Shape); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
	b, err := tensors["b"].Floats()
	if diff := cmp.Diff([]float32{3}, b); diff != "" || err != nil {
		t.Errorf("BF16 (-want +got), %v:\n%s", err, diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(`{"embeddings":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, "\x00\x00\x80\x3f"))
	f.Add(file(`{"embeddings":{"dtype":"I8","shape":[2,0],"data_offsets":[0,0]}}`, ""))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := safetensors.Parse(file)
		if err != nil {
			return
		}
		for name, tensor := range tensors {
			numbers, err := tensor.Floats()
			if err != nil {
				continue
			}
			want := 1
			for _, d := range tensor.Shape {
				want *= d
			}
			if len(numbers) != want {
				t.Fatalf("%q has %d numbers for the shape %v", name, len(numbers), tensor.Shape)
			}
		}
	})
}
