package bolt

import "context"

// Compact rewrites the bbolt file without the pages that are free, so that what
// was deleted from the shelf is gone from the disk and the file is as small as
// its content. Writers wait meanwhile. Time grows with the file's size.
func (s *Store) Compact(ctx context.Context) error {
	return s.submit(ctx, &request{done: make(chan error, 1), solo: s.compact})
}
