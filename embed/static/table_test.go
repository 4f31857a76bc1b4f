package static

import "testing"

func FuzzTable(f *testing.F) {
	f.Add([]byte("\x4c\x00\x00\x00\x00\x00\x00\x00"+`{"embeddings":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}          `+"\x00\x00\x80\x3f"), 1)
	f.Add([]byte("\x46\x00\x00\x00\x00\x00\x00\x00"+`{"embeddings":{"dtype":"I8","shape":[2,0],"data_offsets":[0,0]}}      `), 2)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), 0)
	f.Fuzz(func(t *testing.T, file []byte, tokens int) {
		table, err := parseTable(file, tokens)
		if err != nil {
			return
		}
		for id := range min(tokens, 100) {
			if v := table.mean([]int32{int32(id)}); len(v) != table.dim {
				t.Fatalf("a vector of %d for %d", len(v), table.dim)
			}
		}
	})
}
