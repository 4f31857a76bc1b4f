package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/middleware"
)

// serveConfiguration is what is in force for serve, its flags included, and the files
// that it is from.
func (a *app) serveConfiguration(o serveOptions, log *slog.Logger) (config.Config, []string, error) {
	r, err := a.resolve()
	if err != nil {
		return config.Config{}, nil, err
	}
	if said := r.Notice(); said != "" {
		log.Warn(said)
	}
	if err := keysCount(r); err != nil {
		return config.Config{}, nil, err
	}
	if err := readNothing(r, func(said string) { log.Warn(said) }); err != nil {
		return config.Config{}, nil, err
	}
	cfg := r.Config
	if _, err := offered("", cfg); err != nil {
		return config.Config{}, nil, err
	}
	cfg.Gateway.Listen = cmp.Or(o.listen, cfg.Gateway.Listen)
	cfg.Knowledge.Owner = cmp.Or(a.owner, cfg.Knowledge.Owner)
	return cfg, slices.DeleteFunc([]string{r.User, r.File}, func(path string) bool { return path == "" }), cfg.Validate()
}

// reloading is what reads the configuration again.
type reloading struct {
	*serving
	options serveOptions
	gateway *gateway.Gateway
	layer   *middleware.Layer
	from    []string // the files
}

// reloads reads the configuration again at each hangup until ctx ends. The caller
// waits for the end before it closes what r has.
func (a *app) reloads(ctx context.Context, hangups <-chan os.Signal, r reloading) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				if err := a.reload(&r); err != nil {
					r.log.Error("the configuration was not reloaded, and stays as it was", "cause", err, "try", ken.Hint(err))
				}
			}
		}
	})
	return &wg
}

func (a *app) reload(r *reloading) error {
	next, from, err := a.serveConfiguration(r.options, r.log)
	if err != nil {
		return err
	}
	for _, path := range r.from {
		if !slices.Contains(from, path) {
			return &ken.Error{Code: ken.CodeNotFound, Msg: path + " is gone", Try: "Put it back, or restart ken serve to go on without."}
		}
	}
	if len(next.Gateway.Keys) == 0 && len(r.cfg.Gateway.Keys) > 0 {
		return &ken.Error{Code: ken.CodeRefused, Field: "gateway.keys", Msg: "without keys everybody here could use the gateway",
			Try: "Leave one, or restart ken serve to go on without."}
	}
	before := r.cfg
	if r.cfg.Gateway, err = r.gateway.Reload(next.Gateway); err != nil {
		return err
	}
	r.from = from
	r.log.Info("configuration reloaded", "keys", len(next.Gateway.Keys), "changed", differences(before, r.cfg))
	if later := differences(r.cfg, next); later != "" {
		r.log.Warn("what has changed and needs a restart", "settings", later)
	}
	return nil
}

// differences names the settings in which two configurations differ.
func differences(a, b config.Config) string {
	var out []string
	for _, path := range config.Keys() {
		have, err := a.Get(path)
		other, otherErr := b.Get(path)
		if have != other || cmp.Or(err, otherErr) != nil {
			out = append(out, path)
		}
	}
	return strings.Join(out, " ")
}
