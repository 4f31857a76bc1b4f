// Package codec encodes Go values as bytes and decodes them, for two processes whose types
// are the same or similar. It preserves what encoding/gob or JSON lose: whether a slice is
// nil or empty, strings that are not UTF-8, and the exact value of a number.
//
// The bytes hold no field names and no versions. A struct is encoded as its fields in the
// order of their declaration. A program with the same types as the writer decodes with
// [Decode]. A program with other types needs the writer's [Schema] and decodes with a
// [Reader], which matches fields by name. It skips an unknown field, or, if it is strict,
// returns an error unless the field is zero.
//
// Supported are booleans, numbers, strings, slices, arrays, maps, pointers, structs
// whose fields are all exported, and time.Time. Decoding untrusted bytes is safe: it
// allocates no more elements than the remaining bytes can hold.
package codec
