package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// attempts is the maximum number of attempts of one download. Each resumes where the one
// before stopped.
const attempts = 4

// firstWait is the pause after the first failure; it doubles after each.
const firstWait = time.Second

// stalledAfter is the time without a received byte after which an attempt ends.
const stalledAfter = 30 * time.Second

// newClient returns a client with timeouts for servers that don't respond. It sends no
// credentials and follows the hub's redirects.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	t.ResponseHeaderTimeout = stalledAfter
	t.DisableCompression = true // sizes and ranges must be those of the file
	return &http.Client{Transport: t}
}

// errFinal marks a response that a retry would not change.
var errFinal = errors.New("the server refused")

// download gets a file from the hub into path, and resumes if path has a part of it.
func (m *Model) download(ctx context.Context, o *Options, path string, f File, progress func(n int64)) error {
	base, err := url.Parse(o.Hub)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "--mirror", Msg: "not an address: " + o.Hub, Try: "Give an address such as " + DefaultHub + "."}
	}
	from := base.JoinPath(append([]string{m.Repository, "resolve", m.Revision}, strings.Split(f.Path, "/")...)...).String()
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := m.attempt(ctx, o, from, path, f, progress)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(*ken.Error)): // a disk error
			return err
		case attempt < attempts && !errors.Is(err, errFinal) && o.wait(ctx, wait):
			wait *= 2
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "download " + f.Path + " of " + m.Name + " from " + base.Host, Err: err,
			Try: "Run the same command again, which continues this one; or name a mirror with --mirror or HF_ENDPOINT; or copy the folder of " +
				m.Repository + " here by hand and name it with --from."}
	}
}

// attempt requests the missing part of a file once.
func (m *Model) attempt(ctx context.Context, o *Options, from, path string, f File, progress func(n int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(stalledAfter, func() { cancel(fmt.Errorf("no byte came for %v", stalledAfter)) })
	defer stalled.Stop()
	w, err := open(path)
	if err != nil {
		return m.failed("write "+f.Path, err)
	}
	have, err := w.Seek(0, io.SeekEnd)
	if err != nil || have >= f.Size { // the size is right but the hash was wrong
		have, err = 0, w.Truncate(0)
	}
	if err != nil {
		return m.written(f, w, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return errors.Join(cause(ctx, err), w.Close())
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case resp.StatusCode == http.StatusOK:
		have = 0
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent:
		return errors.Join(fmt.Errorf("%s, and the file is begun anew", resp.Status), w.Truncate(0), w.Close())
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusRequestTimeout:
		return errors.Join(fmt.Errorf("%w: %s", errFinal, resp.Status), w.Close())
	default:
		return errors.Join(errors.New(resp.Status), w.Close())
	}
	if resp.ContentLength >= 0 && have+resp.ContentLength != f.Size {
		return errors.Join(fmt.Errorf("%w: the file has %d bytes there instead of %d", errFinal, have+resp.ContentLength, f.Size), w.Close())
	}
	return m.receive(ctx, o, w, resp.Body, f, have, func(n int64) {
		stalled.Reset(stalledAfter)
		progress(n)
	})
}

// receive writes the body at offset have, and closes w.
func (m *Model) receive(ctx context.Context, o *Options, w *os.File, body io.Reader, f File, have int64, progress func(n int64)) error {
	if _, err := w.Seek(have, io.SeekStart); err != nil {
		return m.written(f, w, err)
	}
	if err := w.Truncate(have); err != nil {
		return m.written(f, w, err)
	}
	got := &counting{r: io.LimitReader(body, f.Size-have+1), n: have, progress: progress}
	reading := &noting{r: got}
	_, err := io.Copy(o.writer(w), reading)
	if err != nil && reading.err == nil {
		return m.written(f, w, err) // a disk error
	}
	if closed := m.written(f, w, nil); closed != nil {
		return closed
	}
	switch {
	case err != nil:
		return cause(ctx, err)
	case got.n != f.Size:
		return fmt.Errorf("%d of %d bytes came", got.n, f.Size)
	}
	return nil
}

// cause returns the cause of ctx if it ended, else err.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// noting records a read error, to distinguish it from a write error.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}
