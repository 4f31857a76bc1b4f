package middleware

import (
	"context"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
)

// Sampler asks the model of a client that is connected. most is how many tokens the answer may
// have.
type Sampler func(ctx context.Context, system, user string, most int) (text, model string, err error)

// samplers are the connected clients whose models may be asked, by owner. The zero value is
// ready.
type samplers struct {
	mu      sync.Mutex // guards byOwner
	byOwner map[string][]*Sampler
}

// errNoSampler is why a session is harvested by rules.
var errNoSampler = &ken.Error{Code: ken.CodeUnavailable, Field: "harvest.sampling", Msg: "no MCP client that offers sampling is connected",
	Try: "Use a client that offers it, or set harvest.model or harvest.command."}

// AddSampler has sessions of an owner harvested by the model of a client, where harvest.sampling
// is on and no other model is configured, until remove is called. "" is the configured owner.
func (l Operator) AddSampler(owner string, s Sampler) (remove func()) {
	owner = l.ownerOrDefault(owner)
	p := &s
	all := &l.samplers
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byOwner == nil {
		all.byOwner = map[string][]*Sampler{}
	}
	all.byOwner[owner] = append(all.byOwner[owner], p)
	return sync.OnceFunc(func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.byOwner[owner] = slices.DeleteFunc(all.byOwner[owner], func(o *Sampler) bool { return o == p })
	})
}

// ask asks the client of an owner that connected last.
func (a *samplers) ask(ctx context.Context, owner, system, user string, most int) (text, model string, err error) {
	a.mu.Lock()
	list := slices.Clone(a.byOwner[owner])
	a.mu.Unlock()
	if len(list) == 0 {
		return "", "", errNoSampler
	}
	return (*list[len(list)-1])(ctx, system, user, most)
}
