// Package codec writes Go values as bytes and reads them back, for two processes
// that run the same types. It keeps what encoding/gob and JSON lose: a slice that
// is nil is nil again and an empty one empty, a text that is not UTF-8 stays as it
// was, and a number is the same number.
//
// There are no field names and no versions in the bytes: a value is its fields in
// the order of their declaration. Who reads must have the very types of who wrote,
// which both sides know by comparing [Fingerprint]. A field that only one of them
// has is then an error before anything is written, rather than knowledge that is
// lost without a word.
//
// Supported are booleans, numbers, strings, slices, arrays, maps, pointers, structs
// whose fields are all exported, and time.Time. Bytes from outside are read with
// bounds: nothing is made that the bytes at hand could not fill.
package codec
