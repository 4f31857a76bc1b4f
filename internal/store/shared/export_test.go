package shared

import "github.com/kenlayer/ken/internal/store/commitlog"

// Later returns the options of a node with records of a later format than this program's.
func Later(o NodeOptions, by commitlog.Format) NodeOptions {
	o.later = by
	return o
}
