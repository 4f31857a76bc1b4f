package doctor

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/middleware"
)

// A backup is a tar archive, compressed with gzip: first a manifest, then for each owner a folder
// with the store's file and the vectors, then other files of the state, such as the gateway's
// keys. The keyword index is left out, because it is built from the store.

const (
	manifestName = "ken-backup.json"
	ownersPrefix = "owners/"
	filesPrefix  = "files/"
	// backupFormat is the version of the archive's layout.
	backupFormat = 1
	// maxManifest and maxStateFile limit the size of the manifest and of another file of the
	// state, in bytes.
	maxManifest  = 16 << 20
	maxStateFile = 64 << 20
)

type manifest struct {
	Format int       `json:"format"`
	Ken    string    `json:"ken"` // version of the program that wrote it
	Layout int       `json:"layout"`
	Made   time.Time `json:"made"`
	Owners []string  `json:"owners"`
}

// missingOwner is an owner that the archive lacks, with the reason.
type missingOwner struct {
	Owner string `json:"owner"`
	Error string `json:"error"`
	Try   string `json:"try"`
}

func (a *commands) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the stores of all owners into an archive",
		Long: "Write a consistent copy of each owner's store into one archive, while they are in use: claims, their history, sessions, receipts, " +
			"jobs and vectors. With store.url, the data comes from the engine, without the nodes. The gateway's keys are included as hashes. " +
			"Owners that ken migrate has moved are left out; the command prints where they are. " +
			"The archive contains all messages and claims: keep it where only you can read it. Claims that are forgotten later stay in it.",
		Example: "  ken backup /var/backups/ken.tar.gz",
		Args:    cli.ExactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := checkArchive(args[0])
			if err = errors.Join(err, a.refuseOwner()); err != nil {
				return err
			}
			p := a.Progress()
			defer p.Done()
			l, err := a.Layer(cmd.Context(), p)
			if away := (*bolt.AwayError)(nil); errors.As(err, &away) { // the configured owner is on another machine; other owners may be here
				l, err = a.Layer(cmd.Context(), p, func(o *middleware.Options) { o.Strict, o.Log = false, slog.New(slog.DiscardHandler) })
			}
			if err != nil {
				return err
			}
			m, left, size, err := a.backup(cmd.Context(), l, p, file)
			if err = errors.Join(err, l.Close()); err != nil {
				return err
			}
			p.Done()
			return a.Show(map[string]any{"file": args[0], "bytes": size, "owners": m.Owners, "made": m.Made, "elsewhere": left}, func() {
				for _, e := range left {
					fmt.Fprintf(a.Err, "not in the archive: %s\n", e.Error)
				}
				fmt.Fprintf(a.Out, "%s: %s, %.1f MB\n", args[0], cli.Count(len(m.Owners), "owner"), float64(size)/1e6)
			})
		},
	}
}

// backup writes the archive to a temporary file and renames it, so that an interrupted run keeps
// the previous archive.
func (a *commands) backup(ctx context.Context, l *middleware.Layer, p *cli.Progress, file string) (m manifest, left []missingOwner, size int64, err error) {
	m = manifest{Format: backupFormat, Ken: cli.Version(), Layout: bolt.Layout, Made: time.Now().UTC().Truncate(time.Second)}
	left = []missingOwner{}
	if m.Owners, err = l.Operator().Owners(ctx); err != nil {
		return m, nil, 0, err
	}
	slices.Sort(m.Owners)
	for { // repeat if owners turn out to be missing, because the manifest comes first
		var more []missingOwner
		size, more, err = writeArchive(ctx, l, p, m, file+".part")
		if err != nil || len(more) == 0 {
			break
		}
		left = append(left, more...)
		m.Owners = slices.DeleteFunc(m.Owners, func(o string) bool {
			return slices.ContainsFunc(more, func(e missingOwner) bool { return e.Owner == o })
		})
	}
	if err == nil {
		err = durable.Rename(file+".part", file)
	}
	if err == nil {
		err = durable.Dir(filepath.Dir(file))
	} else if !errors.Is(err, errOtherBackup) {
		_ = os.Remove(file + ".part")
	}
	return m, left, size, err
}

// errOtherBackup is returned by a backup when another process writes the same archive. The later one goes on.
var errOtherBackup error = &ken.Error{Code: ken.CodeHeld, Field: "FILE", Msg: "another ken backup writes this archive",
	Try: "Wait for it, or name another file. The previous archive was not changed."}

// checkArchive returns the file that an archive at a path is written to: the one that links lead to.
// It returns an error if no file can be made there, or put in place of what is there.
func checkArchive(path string) (file string, err error) {
	why := ""
	file, ok := cli.Replaceable(path)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		why = file + " is a folder"
	} else if !ok || path == "-" {
		why = path + " is not a regular file"
	} else if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		why = "there is no folder " + filepath.Dir(file)
	}
	if why == "" {
		return file, nil
	}
	return "", cli.Invalid("FILE", why, "Give the path of a file, such as ken.tar.gz.")
}

// refuseOwner returns an error if --owner is set: an archive has every owner.
func (a *commands) refuseOwner() error {
	if a.Owner == "" {
		return nil
	}
	return cli.Invalid("--owner", "an archive has the stores of all owners", "Leave it out; ken export and ken import are for one owner's claims.")
}

// writeArchive writes an archive to a file that only this user can read. If left is not empty,
// the archive lacks these owners although its manifest names them.
func writeArchive(ctx context.Context, l *middleware.Layer, p *cli.Progress, m manifest, file string) (size int64, left []missingOwner, err error) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by an interrupted run
		return 0, nil, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, nil, err
	}
	zip := gzip.NewWriter(out)
	archive := tar.NewWriter(zip)
	head, err := json.Marshal(m)
	if err == nil {
		err = add(archive, manifestName, bytes.NewReader(head), int64(len(head)), m.Made)
	}
	for i, owner := range m.Owners {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			p.Update("owners", i, len(m.Owners))
			err = backupOwner(ctx, l, archive, owner, m.Made)
			if away := (*bolt.AwayError)(nil); errors.As(err, &away) {
				var why *ken.Error
				errors.As(away, &why)
				left, err = append(left, missingOwner{owner, why.Msg, why.Try}), nil
			}
		}
	}
	if err == nil {
		p.Update("owners", len(m.Owners), len(m.Owners))
	}
	if err == nil {
		err = backupFiles(archive, stateOf(l), m.Made)
	}
	if err = errors.Join(err, archive.Close(), zip.Close(), out.Sync()); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("back up: %w", err), out.Close())
	}
	info, err := out.Stat()
	if err = errors.Join(err, out.Close()); err != nil {
		return 0, nil, err
	}
	if now, err := os.Lstat(file); err != nil || !os.SameFile(info, now) {
		return 0, nil, errOtherBackup
	}
	return info.Size(), left, nil
}

func stateOf(l *middleware.Layer) string {
	cfg := l.Config()
	return cfg.State(l.Root())
}

func backupOwner(ctx context.Context, l *middleware.Layer, archive *tar.Writer, owner string, made time.Time) (err error) {
	dir, remove, err := alive.Folder(shared.WorkDir(stateOf(l)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	copied := filepath.Join(dir, bolt.FolderName(owner))
	if err := os.Mkdir(copied, 0o700); err != nil {
		return err
	}
	if err := l.Operator().CopyStore(ctx, owner, copied); err != nil {
		return fmt.Errorf("owner %s: %w", owner, err)
	}
	return addFolder(archive, ownersPrefix+bolt.FolderName(owner), copied, made)
}

func addFolder(archive *tar.Writer, name, dir string, made time.Time) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return addFile(archive, path.Join(name, filepath.ToSlash(rel)), file, made)
	})
}

func addFile(archive *tar.Writer, name, file string, made time.Time) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return add(archive, name, f, info.Size(), made)
}

// add adds a file with the first size bytes of r.
func add(archive *tar.Writer, name string, r io.Reader, size int64, made time.Time) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: made}); err != nil {
		return err
	}
	_, err := io.CopyN(archive, r, size)
	return err
}

// ofThisFolder lists files that are valid only in the state folder where they were created.
var ofThisFolder = []string{".gitignore", "made-here.json"}

// backupFiles adds the files beside the owners' folders and the gateway's keys.
func backupFiles(archive *tar.Writer, state string, made time.Time) error {
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) { // a node may have no state folder
		return nil
	}
	for _, e := range entries {
		info, fault := e.Info()
		if fault != nil || !info.Mode().IsRegular() || info.Size() > maxStateFile || slices.Contains(ofThisFolder, e.Name()) {
			continue
		}
		err = errors.Join(err, addFile(archive, filesPrefix+e.Name(), filepath.Join(state, e.Name()), made))
	}
	keys := filepath.Dir(operator.KeysPath(state))
	if _, fault := os.Stat(keys); fault == nil {
		err = errors.Join(err, addFolder(archive, filesPrefix+filepath.Base(keys), keys, made))
	}
	return err
}

func (a *commands) restoreCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore an archive of ken backup",
		Long: "Restore the stores of an archive written by ken backup. An owner that has a store here already is rejected: move the owner's folder away first. " +
			"With store.url, the stores become the start of the engine's logs; these owners must not have logs there yet. No other process may use these owners meanwhile.",
		Example: "  ken restore /var/backups/ken.tar.gz",
		Args:    cli.ExactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.Configuration()
			if err = errors.Join(err, a.refuseOwner()); err != nil {
				return err
			}
			cfg, state := r.Config, r.Config.State(r.Root)
			p := a.Progress()
			defer p.Done()
			m, err := unpack(cmd.Context(), args[0], state, func(m manifest) error {
				if err := notInEngine(cmd.Context(), cfg.Store, m.Owners); err != nil {
					return err
				}
				if !yes {
					fmt.Fprintf(a.Err, "This restores %s, as of %s, to %s\n", cli.Count(len(m.Owners), "owner"), m.Made.Format(time.RFC3339), cmp.Or(engines.Address(cfg.Store.URL), state))
					if err := a.Confirm(cmd.Context(), "Restore?", "Nothing was changed."); err != nil {
						return err
					}
				}
				return cfg.MakeState(r.Root)
			})
			if err == nil && cfg.Store.URL != "" {
				err = a.giveToEngine(cmd.Context(), p, m.Owners)
			}
			if err != nil {
				return err
			}
			p.Done()
			return a.Show(map[string]any{"owners": m.Owners, "made": m.Made, "state": state}, func() {
				fmt.Fprintf(a.Out, "restored %s, as of %s\n", cli.Count(len(m.Owners), "owner"), m.Made.Format(time.RFC3339))
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// notInEngine returns an error if an owner has a log in the engine already.
func notInEngine(ctx context.Context, c config.Store, owners []string) error {
	if c.URL == "" {
		return nil
	}
	log, err := engines.Open(ctx, c)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, owner := range owners {
		last, err := log.Last(ctx, owner)
		if err != nil {
			return err
		}
		if last > 0 {
			return &ken.Error{Code: ken.CodeExists, Field: "owner", Msg: fmt.Sprintf("owner %s is in the engine of store.url", owner),
				Try: "Restore into an engine without that owner, such as another schema or another account. Nothing was changed."}
		}
	}
	return nil
}

// giveToEngine opens each owner once, which moves its store to the engine.
func (a *commands) giveToEngine(ctx context.Context, p *cli.Progress, owners []string) error {
	l, err := a.Layer(ctx, p, func(o *middleware.Options) { o.Strict = true })
	if err != nil {
		return err
	}
	for i, owner := range owners {
		p.Update("owners", i, len(owners))
		_, release, open := l.Store(ctx, owner)
		if open == nil {
			release()
		} else {
			err = errors.Join(err, fmt.Errorf("owner %s: %w", owner, open))
		}
	}
	p.Update("owners", len(owners), len(owners))
	return errors.Join(err, l.Close())
}

// unpack extracts an archive's owners into a state folder, if agree returns nil for the manifest.
// A store is moved into place when it is complete, and replaces nothing.
func unpack(ctx context.Context, file, state string, agree func(manifest) error) (m manifest, err error) {
	f, err := os.Open(file)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder", file)
		}
		defer f.Close()
	}
	if err != nil {
		return m, &ken.Error{Code: ken.CodeNotFound, Msg: "read the archive", Err: err, Try: "Check the path."}
	}
	broken := func(cause error) error {
		return &ken.Error{Code: ken.CodeCorrupt, Field: "file", Msg: file + " is not a complete backup of ken", Err: cause, Try: "Use another backup. Nothing was restored."}
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		return m, broken(err)
	}
	archive := tar.NewReader(zip)
	head, err := archive.Next()
	if err != nil || head.Name != manifestName {
		return m, broken(cmp.Or(err, errors.New("it does not begin with a manifest")))
	}
	if err := json.NewDecoder(io.LimitReader(archive, maxManifest)).Decode(&m); err != nil {
		return m, broken(err)
	}
	if m.Format != backupFormat || m.Layout > bolt.Layout {
		return m, &ken.Error{Code: ken.CodeRefused, Field: "file", Msg: fmt.Sprintf("%s was made by version %s of ken, which this version can't read", file, m.Ken), Try: "Use that version, or a later one."}
	}
	for _, owner := range m.Owners {
		if _, err := os.Lstat(filepath.Join(state, bolt.FolderName(owner))); !errors.Is(err, fs.ErrNotExist) {
			return m, &ken.Error{Code: ken.CodeExists, Field: "owner", Msg: fmt.Sprintf("owner %s has a store in %s", owner, state), Err: err,
				Try: "Move the owner's folder away, or restore into another project. Nothing was changed."}
		}
	}
	if err := agree(m); err != nil {
		return m, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return m, err
	}
	dir, remove, err := alive.Folder(shared.WorkDir(state))
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	in := reading{archive, nil}
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, zip) // the checksum of the archive is behind its last file
			if err == nil {
				break
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !allowed(head) {
			err = fmt.Errorf("it holds %q", head.Name)
		}
		if err == nil {
			if err = extract(&in, filepath.Join(dir, filepath.FromSlash(head.Name))); err != nil && in.err == nil {
				return m, notWritten(err)
			}
		}
		if err != nil {
			return m, errors.Join(ctx.Err(), broken(err))
		}
	}
	return m, place(dir, state, m.Owners, broken)
}

// reading is a reader that keeps its error, to tell it from one of writing.
type reading struct {
	io.Reader
	err error
}

func (r *reading) Read(b []byte) (n int, err error) {
	if n, err = r.Reader.Read(b); err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func notWritten(cause error) error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "write what the archive holds", Err: cause, Try: "Make room on the disk, then run it again. Nothing was restored."}
}

// allowed reports whether an archive entry is one that backup writes. The archive may come from
// anybody.
func allowed(h *tar.Header) bool {
	return h.Typeflag == tar.TypeReg && filepath.IsLocal(h.Name) && path.Clean(h.Name) == h.Name && !strings.Contains(h.Name, `\`) &&
		(strings.HasPrefix(h.Name, ownersPrefix) && strings.Count(h.Name, "/") >= 2 || strings.HasPrefix(h.Name, filesPrefix))
}

func extract(r io.Reader, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Sync(), out.Close())
}

func place(dir, state string, owners []string, broken func(error) error) error {
	for _, owner := range owners {
		folder := filepath.Join(dir, ownersPrefix, bolt.FolderName(owner))
		has, err := bolt.List(filepath.Dir(folder))
		if err == nil && !slices.Contains(has, owner) {
			err = fmt.Errorf("owner %q of the manifest has no store in it", owner)
		}
		if err != nil {
			return broken(err)
		}
		if err := bolt.Detach(folder, bolt.Options{Owner: owner}); errors.Is(err, ken.ErrCorrupt) {
			return broken(err)
		} else if err != nil {
			return notWritten(err)
		}
	}
	for _, owner := range owners {
		if err := os.Rename(filepath.Join(dir, ownersPrefix, bolt.FolderName(owner)), filepath.Join(state, bolt.FolderName(owner))); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, filesPrefix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		to := filepath.Join(state, e.Name())
		if _, fault := os.Lstat(to); errors.Is(fault, fs.ErrNotExist) && !slices.Contains(ofThisFolder, e.Name()) {
			err = errors.Join(err, os.Rename(filepath.Join(dir, filesPrefix, e.Name()), to))
		}
	}
	return err
}
