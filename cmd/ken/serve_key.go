package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
)

func (a *app) serveKeyCommand() *cobra.Command {
	var project string
	var rights []string
	cmd := &cobra.Command{
		Use:   "key NAME",
		Short: "Make a key for the gateway",
		Long: "Make a key, and print it once, with the lines that let it in. Put those under gateway.keys: they have the key's hash, from " +
			"which nobody can make the key. The owner whose knowledge it opens is --owner.\n\n" +
			"Rights are chat (model calls), read, write, and operate (forget, approve, export, and all else that is for a person). Without " +
			"--right a key has the first three.",
		Example: "  ken serve key ana --owner ana\n  ken serve key dashboard --right read --right operate",
		Args:    takes("a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.serveKey(config.GatewayKey{Name: args[0], Owner: a.owner, Project: project, Rights: rights})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "the `project` that its turns belong to")
	cmd.Flags().StringSliceVar(&rights, "right", nil, "a `right`; may be given more than once")
	return cmd
}

func (a *app) serveKey(k config.GatewayKey) error {
	key := access.NewKey()
	k.Hash = access.HashKey(key).String()
	c := config.Default()
	c.Gateway.Keys = []config.GatewayKey{k}
	if err := c.Validate(); err != nil {
		return usage{err}
	}
	line, err := c.Get("gateway.keys")
	if err != nil {
		return err
	}
	line = strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
	if a.json {
		return a.printJSON(map[string]string{"key": key, "name": k.Name, "hash": k.Hash, "entry": line})
	}
	fmt.Fprintf(a.out, "%s\n\ngateway:\n  keys:\n    - %s\n", key, line)
	fmt.Fprintln(a.err, "ken: the key is shown this once; give it to the client, and put the lines below it into the configuration")
	return nil
}
