// Package codec writes Go values as bytes and reads them back, for two processes
// whose types are the same, or nearly. It keeps what encoding/gob and JSON lose: a slice that
// is nil is nil again and an empty one empty, a text that is not UTF-8 stays as it
// was, and a number is the same number.
//
// There are no field names and no versions in the bytes: a value is its fields in
// the order of their declaration. Who has the very types of who wrote reads with
// [Decode]. Who has others needs the writer's [Schema], and reads with a [Reader]:
// fields are matched by name, and one that is not known is skipped, or is an error
// unless it is zero, so that nothing is lost without a word.
//
// Supported are booleans, numbers, strings, slices, arrays, maps, pointers, structs
// whose fields are all exported, and time.Time. Bytes from outside are read with
// bounds: nothing is made that the bytes at hand could not fill.
package codec
