// Package kernel multiplies matrices and applies the functions of a transformer to them, on one
// core.
//
// Weights are packed once: 32 columns of a product side by side, so that a kernel reads memory
// in order. On amd64 there are kernels in assembly, written by generate.go: for AVX-512 (with
// VNNI for 8 bits) and for AVX2 with FMA; the processor decides at start. Everywhere else, and
// in the tests as their measure, plain Go does the same.
//
// Sizes are checked by slicing: a slice that is too short panics before assembly sees it. All
// functions are safe for concurrent use; nobody else may use the memory that they write to.
package kernel

//go:generate go run generate.go
