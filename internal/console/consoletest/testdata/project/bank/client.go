// Package bank talks to the partner bank's API.
package bank

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Timeout bounds one call.
const Timeout = 5 * time.Second

// Client is a connection to the bank.
type Client struct {
	base string
	http http.Client
}

// NewClient returns a client of the bank at base.
func NewClient(base string) *Client { return &Client{base: base, http: http.Client{Timeout: Timeout}} }

// Send asks the bank to move money. The bank knows a reference that it has seen.
func (c *Client) Send(ctx context.Context, reference string, cents int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("%s/transfers/%s?cents=%d", c.base, reference, cents), nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
