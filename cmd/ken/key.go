package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

func (a *app) keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Hand out, list and revoke keys of the gateway",
		Long: "Keys open ken serve: each has an owner, whose knowledge it works with, and rights, and may have limits. They are kept as hashes in " +
			"the project's state, in a file that you alone can read; a ken serve that runs takes up what changes with the next request. Keys " +
			"under gateway.keys count beside them.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.keyCreateCommand(), a.keyListCommand(), a.keyRevokeCommand())
	return cmd
}

func (a *app) keyCreateCommand() *cobra.Command {
	var k config.GatewayKey
	var expires string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key, and print it this once",
		Long: "Make a key, and print it. It can't be shown again: only its hash is kept. The owner whose knowledge it opens is --owner.\n\n" +
			"Rights are chat (model calls), read, write, operate (forget, approve, export, and all else that is for a person), and upstream (every " +
			"path of the upstream beside model calls, with the upstream key that the gateway lends). Without --rights a key has the first three.\n\n" +
			"A pattern of --models is a model's name in which * stands for anything. Budgets are of a day in UTC. A token budget counts what " +
			"answers say that they took, and an estimate where one doesn't.\n\n" +
			"With the first key, every request to the gateway needs one.",
		Example: `  ken key create ana --owner ana
  ken key create ci --rights chat --models 'gpt-5*,claude-*' --expires 90d --requests-per-day 2000 --tokens-per-day 5000000`,
		Args: takes("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.Name, k.Owner = args[0], a.owner
			if expires != "" {
				var err error
				if k.Expires, err = parseExpiry(expires, time.Now().UTC()); err != nil {
					return err
				}
				k.Expires = k.Expires.Truncate(time.Second)
			}
			return a.createKey(cmd.Context(), k)
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.Project, "project", "", "the `project` that its turns belong to")
	f.StringSliceVar(&k.Rights, "rights", nil, "its `rights`, separated by commas")
	f.StringSliceVar(&k.Models, "models", nil, "`patterns` of the models that it may ask, separated by commas; default all")
	f.StringVar(&expires, "expires", "", "when it ends: a length of `time` such as 12h or 30d, or a date; default never")
	f.IntVar(&k.RequestsPerDay, "requests-per-day", 0, "the most model calls a day; 0 is no limit")
	f.IntVar(&k.TokensPerDay, "tokens-per-day", 0, "the most tokens a day, of prompts and answers; 0 is no limit")
	return cmd
}

func (a *app) keyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys of the gateway",
		Long:  "List the keys that were handed out, revoked ones too, and those under gateway.keys. Keys themselves can't be shown.",
		Args:  takes(),
		RunE:  func(*cobra.Command, []string) error { return a.listKeys() },
	}
}

func (a *app) keyRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Have a key open nothing any more",
		Long: "Have a key open nothing any more: the next request with it is refused, by a ken serve that runs, too. An answer that is under way " +
			"goes on to its end. Its name can be given to a new key.",
		Example: "  ken key revoke ci",
		Args:    takes("a name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.revokeKey(cmd.Context(), args[0]) },
	}
}

// keyFile is the configuration that ken serve would have here, and the keys that were
// handed out for it.
func (a *app) keyFile() (*config.Resolved, *operator.Keys, error) {
	r, err := a.resolve()
	if err != nil {
		return nil, nil, err
	}
	a.notice(r)
	err = readNothing(r, func(string) {}) // which may keep the state elsewhere
	return r, operator.OpenKeys(operator.KeysPath(r.Config.State(r.Root)), nil), err
}

// withHandedOut is a configuration with the keys that were handed out as well.
func (a *app) withHandedOut(cfg config.Config) (config.Config, error) {
	root, err := a.project()
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

func (a *app) createKey(ctx context.Context, k config.GatewayKey) error {
	r, keys, err := a.keyFile()
	if err != nil {
		return err
	}
	before, err := keys.List()
	if err != nil {
		return err
	}
	if err := r.Config.MakeState(r.Root); err != nil {
		return err
	}
	secret, made, err := keys.Create(ctx, k, r.Config.Gateway.Keys)
	if err != nil {
		if errors.Is(err, ken.ErrInvalid) {
			return usage{err}
		}
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Secret string `json:"key"`
			operator.Key
		}{secret, made})
	}
	fmt.Fprintln(a.out, secret)
	fmt.Fprintln(a.err, "ken: the key is shown this once; give it to the client")
	if len(before)+len(r.Config.Gateway.Keys) == 0 {
		fmt.Fprintln(a.err, "ken: it is the first one: from now on every request to the gateway needs a key")
	}
	return nil
}

// keyView is a key as it is listed.
type keyView struct {
	operator.Key
	Configured bool `json:"configured,omitempty"` // it stands under gateway.keys
}

func (a *app) listKeys() error {
	r, keys, err := a.keyFile()
	if err != nil {
		return err
	}
	list, err := keys.List()
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
	if a.json {
		return a.printJSON(map[string]any{"keys": views})
	}
	if len(views) == 0 {
		fmt.Fprintln(a.err, "ken: there are no keys: whoever reaches the gateway on this machine may use it")
		return nil
	}
	rows := make([][]string, len(views))
	for i := range views {
		k := &views[i]
		rows[i] = []string{k.Name, cmp.Or(k.Owner, r.Config.Knowledge.Owner), cmp.Or(strings.Join(k.Rights, ","), "chat,read,write"),
			cmp.Or(strings.Join(k.Models, ","), "all"), limit(k.RequestsPerDay), limit(k.TokensPerDay), k.state(time.Now())}
	}
	a.printTable([]string{"NAME", "OWNER", "RIGHTS", "MODELS", "REQUESTS/DAY", "TOKENS/DAY", "STATE"}, rows)
	return nil
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
		return "revoked " + k.Revoked.Format(minute)
	case k.Ended(now):
		return "ended " + k.Expires.Format(minute)
	case !k.Expires.IsZero():
		return "until " + k.Expires.Format(minute)
	case k.Configured:
		return "configured"
	}
	return "valid"
}

func (a *app) revokeKey(ctx context.Context, name string) error {
	_, keys, err := a.keyFile()
	if err != nil {
		return err
	}
	list, err := keys.List()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(k operator.Key) bool { return k.Name == name }) { // makes no folder
		return &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "no key is called " + name,
			Try: "List them with ken key list; a key under gateway.keys is taken out there."}
	}
	k, err := keys.Revoke(ctx, name)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(k)
	}
	fmt.Fprintln(a.out, k.Name)
	return nil
}

// lineSign stands for a line break inside a line: the editor knows single lines
// only.
const lineSign = "␤"

var pasteStart, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// keys is a terminal's input on its way to the line editor of package term, which
// would take Ctrl-C for the end of the input, and each line of a paste for a line
// that was entered.
type keys struct {
	in      io.Reader
	raw     []byte // read, but not whole yet
	out     []byte // translated
	pasting bool
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	for len(k.out) == 0 {
		buf := make([]byte, 256)
		n, err := k.in.Read(buf)
		k.raw = append(k.raw, buf[:n]...)
		for k.translate() {
		}
		if err != nil && len(k.out) == 0 {
			return 0, err
		}
	}
	n := copy(p, k.out)
	k.out = k.out[n:]
	return n, nil
}

// dropLine ends an escape sequence that was begun, goes to the end of the line,
// clears it, and enters it: an empty line, which nothing comes of.
const dropLine = "~\x05\x15\r"

// translate takes one key from raw, and reports false when none is whole.
func (k *keys) translate() bool {
	const ctrlC = 3
	mark := pasteStart
	if k.pasting {
		mark = pasteEnd
	}
	switch {
	case len(k.raw) == 0:
		return false
	case bytes.HasPrefix(k.raw, mark):
		k.pasting = !k.pasting
		return k.emit(len(mark), string(mark))
	case bytes.HasPrefix(mark, k.raw) || !utf8.FullRune(k.raw):
		return false
	}
	r, size := utf8.DecodeRune(k.raw)
	switch {
	case r == utf8.RuneError: // at which the editor would get stuck
		return k.emit(size, "")
	case !k.pasting && r == ctrlC:
		return k.emit(size, dropLine)
	case !k.pasting || !unicode.IsControl(r):
		return k.emit(size, string(r))
	case r == '\t':
		return k.emit(size, "    ")
	case r == '\r' && len(k.raw) == 1: // perhaps \r\n
		return false
	case r == '\r' && k.raw[1] == '\n':
		return k.emit(2, lineSign)
	case r == '\r' || r == '\n':
		return k.emit(size, lineSign)
	}
	return k.emit(size, "")
}

func (k *keys) emit(taken int, s string) bool {
	k.raw = k.raw[taken:]
	k.out = append(k.out, s...)
	return true
}
