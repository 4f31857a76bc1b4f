package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

func (a *commands) keyCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "key",
		Short: "Create, list and revoke keys of the gateway",
		Example: `  ken key create ci --rights chat
  ken key list
  ken key revoke ci`,
		Long: "Keys open ken serve: each has an owner, whose knowledge it works with, and rights, and may have limits. They are kept as hashes in " +
			"the project's state, in a file that you alone can read; a ken serve that runs takes up what changes with the next request. Keys " +
			"under gateway.keys count beside them.",
	}, a.keyCreateCommand(), a.keyListCommand(), a.keyRevokeCommand())
}

func (a *commands) keyCreateCommand() *cobra.Command {
	var k config.GatewayKey
	var expires string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key, and print it once",
		Long: "Create a key, and print it. It can't be shown again: only its hash is stored. The owner whose knowledge it opens is --owner.\n\n" +
			"Rights are chat (model calls), read, write, operate (forget, approve, export, and all else that is for a person), and upstream (every " +
			"path of the upstream beside model calls, with the upstream key that the gateway lends). Without --rights a key has the first three.\n\n" +
			"A pattern of --models is a model's name in which * stands for anything. Budgets are of a day in UTC. A token budget counts what " +
			"answers say that they took, and an estimate where one doesn't.\n\n" +
			"With the first key, every request to the gateway needs one.",
		Example: `  ken key create ana --owner ana
  ken key create ci --rights chat --models 'gpt-5*,claude-*' --expires 90d \
    --requests-per-day 2000 --tokens-per-day 5000000`,
		Args: cli.ExactArgs("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []string{"rights", "models", "expires"} { // an empty variable of a script must not make a key that may do more
				if f := cmd.Flags().Lookup(flag); f.Changed && strings.Trim(f.Value.String(), "[]") == "" {
					return cli.Invalid("--"+flag, "the value is empty", "Give a value, or leave --"+flag+" out for its default.")
				}
			}
			k.Name, k.Owner = args[0], a.Owner
			if expires != "" {
				var err error
				if k.Expires, err = cli.ParseExpiry(expires, time.Now().UTC()); err != nil {
					return err
				}
				k.Expires = k.Expires.Truncate(time.Second)
			}
			return a.createKey(cmd.Context(), k)
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.Project, "project", "", "the `PROJECT` that its turns belong to")
	f.StringSliceVar(&k.Rights, "rights", nil, "its `RIGHTS`, separated by commas")
	f.StringSliceVar(&k.Models, "models", nil, "`PATTERNS` of the models that it may ask, separated by commas; default all")
	f.StringVar(&expires, "expires", "", "the `TIME` when it ends: a length such as 12h or 30d, or a date; default never")
	f.IntVar(&k.RequestsPerDay, "requests-per-day", 0, "at most `N` model calls a day; 0 is no limit")
	f.IntVar(&k.TokensPerDay, "tokens-per-day", 0, "at most `N` tokens a day, of prompts and answers; 0 is no limit")
	return cmd
}

func (a *commands) keyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the keys of the gateway",
		Example: `  ken key list`,
		Long:    "List the created keys, including revoked ones, and those under gateway.keys. Keys themselves can't be shown.",
		Args:    cli.ExactArgs(),
		RunE:    func(*cobra.Command, []string) error { return a.listKeys() },
	}
}

func (a *commands) keyRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a key",
		Long: "Revoke a key: the next request with it is rejected, also by a running ken serve. A running answer " +
			"continues to its end. A new key may have the same name.",
		Example: "  ken key revoke ci",
		Args:    cli.ExactArgs("a name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.revokeKey(cmd.Context(), args[0]) },
	}
}

// keyFile returns the configuration that ken serve would use here, and the keys that
// ken key created for it: for changing them, and as they are.
func (a *commands) keyFile() (r *config.Resolved, keys *operator.Keys, list []operator.Key, err error) {
	if r, err = a.Configuration(); err != nil {
		return nil, nil, nil, err
	}
	if err = cli.SkipFiles(r, func(string) {}); err != nil { // it may move the state elsewhere
		return nil, nil, nil, err
	}
	keys = operator.OpenKeys(operator.KeysPath(r.Config.State(r.Root)), nil)
	list, err = keys.List()
	return r, keys, list, err
}

// withCreatedKeys adds the keys that ken key created to a configuration.
func (a *commands) withCreatedKeys(cfg config.Config) (config.Config, error) {
	root, err := a.Project()
	if err != nil {
		return cfg, err
	}
	list, err := operator.OpenKeys(operator.KeysPath(cfg.State(root)), nil).List()
	cfg.Gateway.Keys = slices.Clone(cfg.Gateway.Keys)
	for _, k := range list {
		cfg.Gateway.Keys = append(cfg.Gateway.Keys, k.GatewayKey)
	}
	return cfg, err
}

func (a *commands) createKey(ctx context.Context, k config.GatewayKey) error {
	r, keys, before, err := a.keyFile()
	if err != nil {
		return err
	}
	if err := r.Config.MakeState(r.Root); err != nil {
		return err
	}
	secret, made, err := keys.Create(ctx, k, r.Config.Gateway.Keys)
	if err != nil {
		return cli.AsUsageError(err)
	}
	if a.JSON {
		err = a.PrintJSON(struct {
			Secret string `json:"key"`
			operator.Key
		}{secret, made})
	} else {
		_, err = fmt.Fprintln(a.Out, secret)
	}
	if err != nil { // nobody has the key, and it can't be shown again
		_, undo := keys.Revoke(context.WithoutCancel(ctx), k.Name)
		return errors.Join(fmt.Errorf("print the key, which is revoked now: %w", err), undo)
	}
	if a.JSON {
		return nil
	}
	fmt.Fprintln(a.Err, "ken: the key is shown this once; give it to the client")
	if len(before)+len(r.Config.Gateway.Keys) == 0 {
		fmt.Fprintln(a.Err, "ken: it is the first one: from now on every request to the gateway needs a key")
	}
	return nil
}

type keyView struct {
	operator.Key
	Configured bool `json:"configured,omitempty"` // configured under gateway.keys
}

func (a *commands) listKeys() error {
	r, _, list, err := a.keyFile()
	if err != nil {
		return err
	}
	views := []keyView{}
	for _, k := range list {
		views = append(views, keyView{Key: k})
	}
	for _, k := range r.Config.Gateway.Keys {
		views = append(views, keyView{Key: operator.Key{GatewayKey: k}, Configured: true})
	}
	rows := cli.Map(views, func(k *keyView) []string {
		return []string{k.Name, cmp.Or(k.Owner, r.Config.Knowledge.Owner), cmp.Or(strings.Join(k.Rights, ","), "chat,read,write"),
			cmp.Or(strings.Join(k.Models, ","), "all"), limit(k.RequestsPerDay), limit(k.TokensPerDay), k.state(time.Now())}
	})
	return a.ShowTable(map[string]any{"keys": views}, "there are no keys: whoever reaches the gateway on this machine may use it",
		[]string{"NAME", "OWNER", "RIGHTS", "MODELS", "REQUESTS/DAY", "TOKENS/DAY", "STATE"}, rows)
}

func limit(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func (k *keyView) state(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked " + k.Revoked.Format(cli.TimeFormat)
	case k.Ended(now):
		return "ended " + k.Expires.Format(cli.TimeFormat)
	case !k.Expires.IsZero():
		return "until " + k.Expires.Format(cli.TimeFormat)
	case k.Configured:
		return "configured"
	}
	return "valid"
}

func (a *commands) revokeKey(ctx context.Context, name string) error {
	r, keys, list, err := a.keyFile()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(k operator.Key) bool { return k.Name == name }) { // checked first, because removing would create the folder
		return &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "no key is called " + name,
			Try: "List them with ken key list; a key under gateway.keys is taken out there."}
	}
	k, err := keys.Revoke(ctx, name)
	if err != nil {
		return err
	}
	now := time.Now()
	opens := func(other operator.Key) bool {
		return other.Name != name && other.Revoked.IsZero() && !other.Ended(now)
	}
	if !slices.ContainsFunc(list, opens) && !slices.ContainsFunc(r.Config.Gateway.Keys, func(c config.GatewayKey) bool { return !(&operator.Key{GatewayKey: c}).Ended(now) }) {
		fmt.Fprintln(a.Err, "ken: no valid key is left: the gateway rejects every request until you create one with ken key create")
	}
	return a.Show(k, func() { fmt.Fprintln(a.Out, k.Name) })
}
