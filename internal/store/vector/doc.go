// Package vector stores embedding vectors: a File per model on disk, and an Index per
// model in memory, which finds the vectors nearest to a query.
//
// # Index
//
// A row is identified by its record's ref. Rows have unit length, so that cosine is a
// dot product; identical texts under two refs are two rows. With at most
// Options.ScanRows rows, a search computes every cosine. With more, it first compares
// one bit per dimension, whether the number is above the mean, which reads a
// thirty-second of the memory. The rows that share most bits with the query are the
// candidates, which are ranked by their exact cosines. The filter is part of the scan,
// so that a narrow filter finds as many hits as a wide one.
//
// Searches lock a thousand rows at a time. A search during writes therefore sees each
// row as of some moment of the search, but not all rows as of the same moment.
//
// # File
//
// A File is a cache, keyed by the hash of the embedded text. Lost records can be
// embedded again, so appends are not synced one by one, and damaged records are dropped
// and reported. A file with another format, model or dimension is left unchanged. Erase
// overwrites a record in place and syncs, because a forgotten text's vector reveals
// much of the text.
//
// Only one process may have a File open; this package does not enforce that.
//
// # Format
//
// All numbers are little endian. The header:
//
//	offset      size  field
//	0           8     magic: the bytes "KENVEC", 0x0D, 0x0A
//	8           4     version: 1
//	12          4     D, the number of dimensions, from 1 to 65535
//	16          4     M, the length of the model's name, from 1 to 1024
//	20          M     the model's name, UTF-8
//	20+M        4     CRC-32C of bytes 0 to 20+M
//
// Records follow without gaps, each of 20+4D bytes:
//
//	offset      size  field
//	0           16    hash of the content
//	16          4     CRC-32C of the hash and the vector
//	20          4D    the vector, IEEE 754 single precision
//
// A vector of zeros says that the model has none for the content, such as a text without a
// word that it knows. An erased record is all zeros except for the checksum, so the zero hash
// is never used. Bytes after the last complete record come from an interrupted write.
package vector
