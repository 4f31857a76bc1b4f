package facet

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// slots finds a claim's slot by its id: a hash table that holds numbers of slots
// alone, since the ids are in a column already. It takes 5 to 11 bytes for each claim,
// where a map takes 35.
type slots struct {
	ids  *[]uuid.UUID // by slot
	home []uint32     // slot+1, 0 for none; its length is a power of two
	n    int
}

// at is where the search for an id begins. Ids are random in their last half, or were
// chosen by somebody: then they may crowd, which makes a search longer, not wrong.
func (s *slots) at(id *uuid.UUID) uint64 {
	h := binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])*0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return (h ^ h>>32) & uint64(len(s.home)-1)
}

func (s *slots) get(id uuid.UUID) (uint32, bool) {
	if s.n == 0 {
		return 0, false
	}
	for i := s.at(&id); ; i = (i + 1) & uint64(len(s.home)-1) {
		switch at := s.home[i]; {
		case at == 0:
			return 0, false
		case (*s.ids)[at-1] == id:
			return at - 1, true
		}
	}
}

// put notes the slot of an id that has none yet. The column has it.
func (s *slots) put(slot uint32) {
	if (s.n+1)*5 > len(s.home)*4 {
		old := s.home
		s.home = make([]uint32, max(16, 2*len(old)))
		for _, at := range old {
			if at != 0 {
				s.place(at)
			}
		}
	}
	s.place(slot + 1)
	s.n++
}

func (s *slots) place(at uint32) {
	mask := uint64(len(s.home) - 1)
	i := s.at(&(*s.ids)[at-1])
	for s.home[i] != 0 {
		i = (i + 1) & mask
	}
	s.home[i] = at
}

// remove forgets an id, which the column still has, and moves what stands behind it
// nearer to where it belongs.
func (s *slots) remove(slot uint32) {
	mask := uint64(len(s.home) - 1)
	hole := s.at(&(*s.ids)[slot])
	for s.home[hole] != slot+1 {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; s.home[i] != 0; i = (i + 1) & mask {
		begin := s.at(&(*s.ids)[s.home[i]-1])
		if (i-begin)&mask >= (i-hole)&mask { // it was looked for at the hole first
			s.home[hole], hole = s.home[i], i
		}
	}
	s.home[hole] = 0
	s.n--
}
