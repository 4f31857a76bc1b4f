// Package mapped limits how much of a process's mapped files counts as its memory. Pages
// that were read stay counted until the file is closed, although the system has them in
// its page cache anyway. So a process that reads a whole store once appears as large as
// the store. Release drops such pages from the process; they stay in the page cache, and
// the next access finds them there.
package mapped
