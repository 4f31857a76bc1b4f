package facet

import "strings"

// dictionary numbers the values of a facet, so that a column holds four bytes for
// each claim and a value is kept once. Number 0 is for none. A value that nobody uses
// any more leaves nothing behind: it may be of a claim that was forgotten.
type dictionary struct {
	spell func(string) string // what values are compared by; nil compares them as they are
	codes map[string]uint32   // by spelling
	names []string            // by code, as first written
	uses  []uint32            // by code
	free  []uint32
}

func newDictionary(spell func(string) string) dictionary {
	return dictionary{spell: spell, codes: map[string]uint32{}, names: []string{""}, uses: []uint32{0}}
}

// key is what a name is compared by; "" is none.
func (d *dictionary) key(name string) string {
	if d.spell == nil {
		return name
	}
	return d.spell(name)
}

// find returns a name's number; 0 and true for no name.
func (d *dictionary) find(name string) (uint32, bool) {
	if name == "" {
		return 0, true
	}
	code, ok := d.codes[d.key(name)]
	return code, ok
}

// take returns a name's number and counts one more use of it.
func (d *dictionary) take(name string) uint32 {
	key := d.key(name)
	if key == "" {
		return 0
	}
	if code, ok := d.codes[key]; ok {
		d.uses[code]++
		return code
	}
	name = strings.Clone(name) // it may be a part of a whole claim
	if d.spell == nil {
		key = name
	}
	var code uint32
	if n := len(d.free); n > 0 {
		code, d.free = d.free[n-1], d.free[:n-1]
		d.names[code], d.uses[code] = name, 1
	} else {
		code = uint32(len(d.names))
		d.names, d.uses = append(d.names, name), append(d.uses, 1)
	}
	d.codes[key] = code
	return code
}

// drop counts one use less.
func (d *dictionary) drop(code uint32) {
	if code == 0 {
		return
	}
	if d.uses[code]--; d.uses[code] > 0 {
		return
	}
	delete(d.codes, d.key(d.names[code]))
	d.names[code], d.free = "", append(d.free, code)
}
