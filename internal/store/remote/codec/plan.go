package codec

import (
	"fmt"
	"reflect"
	"sync"
	"time"
)

// plan holds the functions that encode and decode values of one type. It is created once
// per type.
type plan struct {
	write func(b []byte, v reflect.Value) []byte
	read  func(r *reader, v reflect.Value)
	least int // minimum encoded size of a value in bytes; 0 only while the plan is being created
}

var (
	plansMu sync.RWMutex // guards plans
	plans   = map[reflect.Type]*plan{}

	timeType = reflect.TypeFor[time.Time]()
)

// planOf returns the type's plan. It panics if the type is not supported, which is a
// programming error.
func planOf(t reflect.Type) *plan {
	plansMu.RLock()
	p := plans[t]
	plansMu.RUnlock()
	if p != nil {
		return p
	}
	plansMu.Lock()
	defer plansMu.Unlock()
	return makePlan(t)
}

// makePlan returns the type's plan, and creates it if necessary. The caller must hold
// plansMu. For a type that contains itself, the inner call returns the unfinished plan. That
// is safe, because plans are used only when they are finished.
func makePlan(t reflect.Type) *plan {
	if p := plans[t]; p != nil {
		return p
	}
	p := &plan{}
	plans[t] = p
	switch {
	case t == timeType:
		p.least, p.write, p.read = 1, writeTime, readTime
		return p
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		p.least, p.write, p.read = 1, writeBytes, readBytes
		return p
	}
	switch t.Kind() {
	case reflect.Bool:
		p.least, p.write, p.read = 1, writeBool, readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.least, p.write, p.read = 1, writeInt, readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.least, p.write, p.read = 1, writeUint, readUint
	case reflect.Float32:
		p.least, p.write, p.read = 4, writeFloat32, readFloat32
	case reflect.Float64:
		p.least, p.write, p.read = 8, writeFloat64, readFloat64
	case reflect.String:
		p.least, p.write, p.read = 1, writeString, readString
	case reflect.Slice:
		p.least = 1
		planSlice(p, makePlan(t.Elem()))
	case reflect.Array:
		planArray(p, t)
	case reflect.Map:
		p.least = 1
		planMap(p, t, makePlan(t.Key()), makePlan(t.Elem()))
	case reflect.Pointer:
		p.least = 1
		planPointer(p, t, makePlan(t.Elem()))
	case reflect.Struct:
		planStruct(p, t)
	default:
		panic(fmt.Sprintf("codec: a %s can't be written", t))
	}
	return p
}

func planStruct(p *plan, t reflect.Type) {
	fields := make([]*plan, t.NumField())
	for i := range fields {
		if f := t.Field(i); !f.IsExported() {
			panic(fmt.Sprintf("codec: %s.%s is not exported", t, f.Name))
		}
		fields[i] = makePlan(t.Field(i).Type)
		p.least += max(1, fields[i].least)
	}
	p.least = max(1, p.least)
	empty := len(fields) == 0
	p.write = func(b []byte, v reflect.Value) []byte {
		if empty {
			return append(b, 0)
		}
		for i, f := range fields {
			b = f.write(b, v.Field(i))
		}
		return b
	}
	p.read = func(r *reader, v reflect.Value) {
		if !r.enter() {
			return
		}
		if empty {
			r.byte()
		}
		for i, f := range fields {
			f.read(r, v.Field(i))
		}
		r.leave()
	}
}

func planArray(p *plan, t reflect.Type) {
	if t.Elem().Kind() == reflect.Uint8 && t.Len() > 0 {
		p.least = t.Len()
		p.write = func(b []byte, v reflect.Value) []byte {
			for i := range v.Len() {
				b = append(b, byte(v.Index(i).Uint()))
			}
			return b
		}
		p.read = func(r *reader, v reflect.Value) {
			reflect.Copy(v, reflect.ValueOf(r.take(uint64(v.Len()))))
		}
		return
	}
	elem := makePlan(t.Elem())
	p.least = max(1, t.Len()*elem.least)
	p.write = func(b []byte, v reflect.Value) []byte {
		if v.Len() == 0 {
			return append(b, 0)
		}
		for i := range v.Len() {
			b = elem.write(b, v.Index(i))
		}
		return b
	}
	readArray(p, elem)
}
