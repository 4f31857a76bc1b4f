package codec

import (
	"fmt"
	"reflect"
)

// Schema describes the types that a program encodes, for programs whose types have other
// fields. It is exchanged as JSON. The zero value has no types.
type Schema struct {
	Types []Type `json:"types"`

	ids   map[reflect.Type]int
	least []int // minimum encoded size of a value of each type in bytes; set by Check
	plans map[pair]*plan
}

// Type is one type of a schema. Key and Elem are positions in Schema.Types.
type Type struct {
	Kind   string  `json:"kind"`
	Key    int     `json:"key,omitempty"`    // of a map
	Elem   int     `json:"elem,omitempty"`   // of a list, an array, a map or a pointer
	Len    int     `json:"len,omitempty"`    // of an array
	Fields []Field `json:"fields,omitempty"` // of a struct, in the order in which they are written
}

// Field is a field of a struct. Type is a position in Schema.Types.
type Field struct {
	Name string `json:"name"`
	Type int    `json:"type"`
}

// Kinds of types. Each has its own encoding.
const (
	kindBool    = "bool"
	kindInt     = "int" // of any width
	kindUint    = "uint"
	kindFloat32 = "float32"
	kindFloat64 = "float64"
	kindString  = "string"
	kindTime    = "time"
	kindBytes   = "bytes" // a list of bytes
	kindRaw     = "raw"   // an array of bytes
	kindList    = "list"
	kindArray   = "array"
	kindMap     = "map"
	kindPointer = "pointer"
	kindStruct  = "struct"
)

// scalars maps the Go kinds of types without elements or fields to their kinds in a schema.
var scalars = map[reflect.Kind]string{
	reflect.Bool: kindBool, reflect.String: kindString, reflect.Float32: kindFloat32, reflect.Float64: kindFloat64,
	reflect.Int: kindInt, reflect.Int8: kindInt, reflect.Int16: kindInt, reflect.Int32: kindInt, reflect.Int64: kindInt,
	reflect.Uint: kindUint, reflect.Uint8: kindUint, reflect.Uint16: kindUint, reflect.Uint32: kindUint, reflect.Uint64: kindUint,
}

// kindOf returns the kind of a type in a schema. It panics if the type is not supported.
func kindOf(t reflect.Type) string {
	bytes := (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
	switch {
	case t == timeType:
		return kindTime
	case bytes && t.Kind() == reflect.Slice:
		return kindBytes
	case bytes && t.Len() > 0:
		return kindRaw
	}
	switch t.Kind() {
	case reflect.Slice:
		return kindList
	case reflect.Array:
		return kindArray
	case reflect.Map:
		return kindMap
	case reflect.Pointer:
		return kindPointer
	case reflect.Struct:
		return kindStruct
	}
	kind, ok := scalars[t.Kind()]
	if !ok {
		panic(fmt.Sprintf("codec: a %s can't be written", t))
	}
	return kind
}

// Add adds a type, and the types it consists of, to the schema and returns its position. It
// panics if the type is not supported.
func (s *Schema) Add(t reflect.Type) int {
	if id, ok := s.ids[t]; ok {
		return id
	}
	if s.ids == nil {
		s.ids = map[reflect.Type]int{}
	}
	d := Type{Kind: kindOf(t)}
	if d.Kind == kindStruct { // add it before its fields, whose types may contain it
		id := len(s.Types)
		s.ids[t], s.Types = id, append(s.Types, d)
		fields := make([]Field, t.NumField())
		for i := range fields {
			fields[i] = Field{t.Field(i).Name, s.Add(t.Field(i).Type)}
		}
		s.Types[id].Fields = fields
		return id
	}
	switch d.Kind {
	case kindRaw, kindArray:
		d.Len = t.Len()
	case kindMap:
		d.Key = s.Add(t.Key())
	}
	switch d.Kind {
	case kindList, kindArray, kindMap, kindPointer:
		d.Elem = s.Add(t.Elem())
	}
	// Types with the same description share one entry.
	for id := range s.Types {
		if o := &s.Types[id]; o.Kind != kindStruct && o.Kind == d.Kind && o.Key == d.Key && o.Elem == d.Elem && o.Len == d.Len {
			s.ids[t] = id
			return id
		}
	}
	s.ids[t], s.Types = len(s.Types), append(s.Types, d)
	return s.ids[t]
}

// Limits for a schema that another program has sent.
const (
	maxTypes = 4096
	maxLen   = 1 << 16 // of an array
	maxLeast = 1 << 14
)

// Check returns an error if the schema is invalid. It must be called on a schema that another
// program has sent, before Reader.
func (s *Schema) Check() error {
	if len(s.Types) > maxTypes {
		return fmt.Errorf("codec: a schema of %d types", len(s.Types))
	}
	for id, t := range s.Types {
		var of []int
		known := false
		switch t.Kind {
		case kindBool, kindInt, kindUint, kindFloat32, kindFloat64, kindString, kindTime, kindBytes:
			known = true
		case kindRaw:
			known = t.Len > 0 && t.Len <= maxLen
		case kindArray:
			of, known = []int{t.Elem}, t.Len >= 0 && t.Len <= maxLen
		case kindMap:
			of, known = []int{t.Key, t.Elem}, true
		case kindList, kindPointer:
			of, known = []int{t.Elem}, true
		case kindStruct:
			known = true
			names := map[string]bool{}
			for _, f := range t.Fields {
				if f.Type < 0 || f.Type >= len(s.Types) || f.Name == "" || names[f.Name] {
					return fmt.Errorf("codec: field %q of type %d of a schema makes no sense", f.Name, id)
				}
				names[f.Name] = true
			}
		}
		for _, o := range of { // only a struct may contain itself: maxDepth bounds their nesting
			known = known && o >= 0 && o < len(s.Types) && (o < id || s.Types[o].Kind == kindStruct)
		}
		if !known {
			return fmt.Errorf("codec: type %d of a schema makes no sense", id)
		}
	}
	s.least, s.plans = make([]int, len(s.Types)), map[pair]*plan{}
	for id := range s.Types {
		s.leastOf(id)
	}
	return nil
}

// leastOf returns the minimum encoded size of a value of type id in bytes, at most maxLeast.
// Where a type contains itself, the inner value counts as 1.
func (s *Schema) leastOf(id int) int {
	if s.least[id] != 0 {
		return s.least[id]
	}
	s.least[id] = 1
	n := 1
	switch t := s.Types[id]; t.Kind {
	case kindFloat32:
		n = 4
	case kindFloat64:
		n = 8
	case kindRaw:
		n = t.Len
	case kindArray:
		n = t.Len * s.leastOf(t.Elem)
	case kindStruct:
		n = 0
		for _, f := range t.Fields {
			n = min(n+s.leastOf(f.Type), maxLeast)
		}
	}
	s.least[id] = min(max(n, 1), maxLeast)
	return s.least[id]
}
