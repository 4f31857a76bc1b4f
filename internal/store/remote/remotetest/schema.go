package remotetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// Schema describes the messages of a build, in the form that package remote sends.
type Schema struct {
	Messages []Message `json:"messages"`
	codec.Schema
}

// Message is a kind of message. Request and Answer are positions in the schema's types.
type Message struct {
	Kind    byte   `json:"kind"`
	Name    string `json:"name"`
	Request int    `json:"request"`
	Answer  int    `json:"answer"`
}

// Own returns the schema of this build.
func Own() Schema { return Read(remote.Schema()) }

// Read decodes a schema from JSON. It panics if the schema is invalid.
func Read(b []byte) (s Schema) {
	if err := json.Unmarshal(b, &s); err != nil {
		panic(err)
	}
	if err := s.Check(); err != nil {
		panic(err)
	}
	return s
}

// JSON returns the schema as JSON, the form in which it is sent.
func (s Schema) JSON() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

func (s Schema) fingerprint() string {
	sum := sha256.Sum256(s.JSON())
	return fmt.Sprintf("%x", sum[:8])
}

// Later returns the schema of a later build. Each struct has its fields in another order and
// two more: LaterPlain, of a type without elements, and LaterMany, a list or pointer, which
// may refer to the struct itself.
func (s Schema) Later() Schema {
	var plain, all []int
	out := Schema{Messages: s.Messages, Schema: codec.Schema{Types: slices.Clone(s.Types)}}
	for id, t := range s.Types {
		if t.Kind != "struct" && t.Kind != "array" && t.Elem == 0 {
			plain = append(plain, id)
		}
		all = append(all, len(out.Types))
		out.Types = append(out.Types, codec.Type{Kind: []string{"list", "pointer"}[id%2], Elem: id})
	}
	return out.change(func(id int, fields []codec.Field) []codec.Field {
		slices.Reverse(fields)
		fields = slices.Insert(fields, len(fields)/2, codec.Field{Name: "LaterPlain", Type: plain[id%len(plain)]})
		return append(fields, codec.Field{Name: "LaterMany", Type: all[7*id%len(all)]})
	})
}

// Without returns the schema of a build whose structs lack the fields of this name.
func (s Schema) Without(name string) Schema {
	return s.change(func(_ int, fields []codec.Field) []codec.Field {
		return slices.DeleteFunc(fields, func(f codec.Field) bool { return f.Name == name })
	})
}

// Retype returns the schema of a build whose fields of this name have the type of the first
// field named like.
func (s Schema) Retype(name, like string) Schema {
	of := 0
	for _, t := range slices.Backward(s.Types) {
		for _, f := range t.Fields {
			if f.Name == like {
				of = f.Type
			}
		}
	}
	return s.change(func(_ int, fields []codec.Field) []codec.Field {
		for i := range fields {
			if fields[i].Name == name {
				fields[i].Type = of
			}
		}
		return fields
	})
}

func (s Schema) change(fn func(id int, fields []codec.Field) []codec.Field) Schema {
	out := Schema{Messages: s.Messages}
	for id, t := range s.Types {
		if t.Kind == "struct" {
			t.Fields = fn(id, slices.Clone(t.Fields))
		}
		out.Types = append(out.Types, t)
	}
	return Read(out.JSON())
}
