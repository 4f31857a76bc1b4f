package codec

import (
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
)

// Fingerprint is a number for the form of the types of these values: the same for
// two programs whose types have the same fields in the same order, by name and by
// type, and another one otherwise.
func Fingerprint(values ...any) uint64 {
	h := fnv.New64a()
	seen := map[reflect.Type]int{}
	for _, v := range values {
		describe(h, reflect.TypeOf(v), seen)
	}
	return h.Sum64()
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]int) {
	if n, ok := seen[t]; ok {
		fmt.Fprintf(w, "#%d;", n)
		return
	}
	fmt.Fprintf(w, "%s:", t.Kind())
	switch {
	case t == timeType:
		fmt.Fprint(w, "time;")
		return
	case t.Kind() == reflect.Struct:
		seen[t] = len(seen)
		for i := range t.NumField() {
			fmt.Fprintf(w, "%s ", t.Field(i).Name)
			describe(w, t.Field(i).Type, seen)
		}
	case t.Kind() == reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case t.Kind() == reflect.Array:
		fmt.Fprintf(w, "%d ", t.Len())
		describe(w, t.Elem(), seen)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Pointer:
		describe(w, t.Elem(), seen)
	}
	fmt.Fprint(w, ";")
}
