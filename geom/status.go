package geom

// Status says how an iteration ended.
type Status int

const (
	Converged     Status = iota // the tolerance was met
	Stalled                     // no step made progress any more: the best point found is returned
	MaxIterations               // the limit of iterations was reached
	Cancelled                   // the user stopped it
)

func (s Status) String() string {
	return [...]string{"converged", "stalled", "iteration limit", "cancelled"}[s]
}
