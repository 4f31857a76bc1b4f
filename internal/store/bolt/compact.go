package bolt

import "context"

// Compact rewrites the files without what is gone: the bbolt file without its free pages,
// so that what was deleted from the shelf or forgotten is gone from the disk and the file
// is as small as its content; the keyword index without deleted words; and the vectors,
// those of other models included, without those of texts that no record has. Writers wait
// meanwhile. Time grows with the files' size. It can be repeated, and what fails leaves
// the rest done.
func (s *Store) Compact(ctx context.Context) error {
	return s.submit(ctx, &request{done: make(chan error, 1), solo: func() error { return s.erase(ctx) }})
}
