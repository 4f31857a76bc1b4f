// Package vector keeps embedding vectors: on disk, one File per model, and in
// memory, one Index per model that finds the nearest to a query.
//
// # Index
//
// A row is named by its record's ref. Rows have unit length, so that cosine is
// a dot product; identical texts under two refs are two rows. Below
// Options.ScanRows rows a search computes every cosine. Above, it first compares
// one bit per dimension, whether the number is above the mean, which needs a
// thirty-second of the memory traffic; the rows that agree with the query in
// most bits are the candidates, and their exact cosines decide. The filter is
// part of the scan, so that a narrow one finds as many hits as a wide one.
//
// Searches lock a thousand rows at a time. A search beside writers therefore
// sees each row as it was at some moment of the search, not all rows at the
// same moment.
//
// # File
//
// A File is a cache, keyed by the hash of what was embedded: what is lost can be
// embedded again, so appends are not synced one by one, and damage is dropped
// and reported instead of fatal. A file that is not what the caller says it is
// stays untouched. Erase is the exception to "append only": it overwrites the
// record in place and syncs, because a forgotten text's vector tells much of the
// text.
//
// One process may have a File open; nothing here enforces that.
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
// An erased record is all zeros but for the checksum; so the zero hash names
// nothing. Bytes after the last whole record are a torn write.
package vector
