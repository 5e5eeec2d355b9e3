package geomtest

import "context"

// Countdown is a context that ends once it was looked at so many times as are left: for computations that are stopped anywhere.
type Countdown struct {
	context.Context
	Left int
}

func (c *Countdown) Err() error {
	if c.Left--; c.Left < 0 {
		return context.Canceled
	}
	return nil
}
