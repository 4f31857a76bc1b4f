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
	p := &plan{least: 1}
	plans[t] = p
	switch kind := kindOf(t); kind {
	case kindList:
		planSlice(p, makePlan(t.Elem()))
	case kindRaw:
		planRaw(p, t)
	case kindArray:
		planArray(p, t)
	case kindMap:
		planMap(p, t, makePlan(t.Key()), makePlan(t.Elem()))
	case kindPointer:
		planPointer(p, t, makePlan(t.Elem()))
	case kindStruct:
		planStruct(p, t)
	default:
		*p = scalarPlans[kind]
	}
	return p
}

// scalarPlans are the plans of types without elements or fields.
var scalarPlans = map[string]plan{
	kindBool: {writeBool, readBool, 1}, kindInt: {writeInt, readInt, 1}, kindUint: {writeUint, readUint, 1},
	kindFloat32: {writeFloat32, readFloat32, 4}, kindFloat64: {writeFloat64, readFloat64, 8},
	kindString: {writeString, readString, 1}, kindBytes: {writeBytes, readBytes, 1}, kindTime: {writeTime, readTime, 1},
}

func planStruct(p *plan, t reflect.Type) {
	p.least = 0
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

func planRaw(p *plan, t reflect.Type) {
	p.least = t.Len()
	p.write = func(b []byte, v reflect.Value) []byte {
		for i := range v.Len() {
			b = append(b, byte(v.Index(i).Uint()))
		}
		return b
	}
	p.read = func(r *reader, v reflect.Value) { reflect.Copy(v, reflect.ValueOf(r.take(uint64(v.Len())))) }
}

func planArray(p *plan, t reflect.Type) {
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
