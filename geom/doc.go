// Package geom is Riemannian and sub-Riemannian geometry: metrics, cometrics, geodesics, logarithms, parallel transport,
// curvature. A manifold gives its metric; everything else follows from it by automatic differentiation.
//
// # Where to begin
//
//	space := geom.On(manifold.Sphere(2))                        // points are unit vectors
//	g, err := space.Log([]float64{1, 0, 0}, []float64{0, 1, 0}) // the geodesic from one point to another
//	if err != nil { … }
//	if err := g.Err(); err != nil { … }                         // the search has not converged: g is the best geodesic found
//	fmt.Printf("%.4f %.4f\n", g.Length, g.Velocity)             // 1.5708 [0.0000 1.5708 0.0000]
//	moved, err := space.Transport(g, []float64{0, 0, 1})        // a tangent vector, carried along g
//	h, err := space.Exp([]float64{1, 0, 0}, []float64{0, 0, 1}) // the geodesic with a given initial velocity
//
// Package manifold has the usual manifolds; the example of MetricFunc makes one from a formula for its metric. Package stats
// computes means and principal components. Package stochastic simulates Brownian motion and other diffusions. Package framebundle
// has development and the geodesics of frames, lie matrix groups, and package landmarks the manifold of landmark shapes.
//
// # A manifold
//
// A manifold is a value with Dim and either G, its metric, or Sharp, its cometric, as functions of coordinates. A manifold may
// have closed forms too, as optional methods; they are found by type assertion and must agree with what the generic functions of
// this package compute. Graph functions (Sharp, Riemann, Transport …) take nodes of a GoMLX graph and treat the leading axes of
// their arguments as a batch; the methods of Space compute the same with numbers of Go.
//
// A manifold that needs more than one chart is Charted: its points and vectors are those of an ambient space, such as unit
// vectors for the sphere, and every step of an integration is taken in the chart centred at the current point. The functions of
// Space then take and return ambient vectors. Graph functions take coordinates, unless their comment says that points are
// ambient; At enters the chart at an ambient point, and is the identity on manifolds whose points are coordinates.
//
// # A space
//
// A Space computes on a manifold with host values, that is, numbers of Go. Its points have one type P. On makes a space with lists
// of numbers, and OnShapes one with shapes: lists of points, with one landmark, or one row of a matrix, in each row. Functions of
// other packages take an Of[P], which a Space is, and return points of the same type. Long computations end early when the
// Context of the space ends.
//
// # Two storeys
//
// The formulas are functions of graphs: metric and cometric in geometry.go, charts, manifolds made of others in induced.go, levelset.go,
// product.go and subriemannian.go, Christoffel symbols, curvature, transport, operators, and curves of least energy in path.go.
// The computations with numbers are the methods of Space in the files space*.go. They call the formulas, check arguments and make errors.
// Package internal/shortest has the search behind Log: it knows numbers only, and asks the formulas through space_shooting.go.
//
// # Notation
//
// Shapes of arrays are in brackets: [..., d] has any leading axes, the batch, and d numbers in its last axis. Where points are
// [B..., d], vectors may be [P..., B..., d], several at each point.
//
//	d, a         dimension of the manifold; number of coordinates of an ambient vector
//	q, x, y      points, in coordinates [..., d];  z, c  points of a Charted manifold, [..., a], c the centre of a chart
//	u, v, w      tangent vectors, [..., d];  p  covectors (momenta), [..., d]
//	g_ij         metric, [..., d, d];  g^ij, g*  cometric, its inverse
//	p♯^i         g^ij p_j, Sharp: covector to vector;  v♭_i  g_ij v^j, Flat: vector to covector
//	⟨u, v⟩_g     g_ij u^i v^j;  ‖v‖_g the norm of v;  |v|  the Euclidean norm of the numbers of v
//	H(q, p)      ½ g^ij p_i p_j, the Hamiltonian of geodesics
//	γ, Exp_q(v)  a geodesic; γ(1) for the geodesic with γ(0) = q, γ'(0) = v
//	Log_q(y)     the inverse of Exp_q;  d(q, y) = ‖Log_q(y)‖_g, the distance
//	Γ^i_kl       Christoffel symbols, upper index first;  Γ(u, v)^i = Γ^i_kl u^k v^l
//	∂_l g_mk     Dg[m, k, l], the index of the derivative last;  D_u f  the derivative of f in the direction u
//	R(u, v)w     curvature, [∇_u, ∇_v]w − ∇_[u,v]w
//	ν, ν_α       a frame of m ≤ d tangent vectors, [m, ..., d]; (x, ν), or u, is a point of the frame bundle
//	K ⊗ I_D      cometric of n landmarks in R^D, d = n·D, coordinates landmark by landmark: x_1 y_1 x_2 y_2 …
//	W, dW        Brownian motion in R^m and its increments
//	σ            the noise level, the standard deviation of the noise of a coordinate;  ℓ  the width of a kernel
//	σ_α          with an index: the vector field that multiplies dW^α in a stochastic equation
//	μ ≥ 0        the number added to a cometric that is nearly singular, g* + μ
//
// Geodesics run over the times from 0 to 1. Lengths have the unit of the data; momenta of landmarks have the unit of lengths,
// since their kernels are normalised to k(0) = 1. Angles are in radians.
//
// # Verbs
//
// Methods of spaces, models and results with one of these names do this. The closed forms of a manifold are others: there Exp is the end
// point, and Log the velocity. geom.At is a manifold in coordinates around a point:
//
//	Exp           the geodesic from a point with an initial velocity, or the exponential of a group
//	Shoot         the geodesic from a point with an initial momentum
//	Log           the geodesic from one point to another, or the logarithm of a group
//	Transport     moves tangent vectors in parallel along a geodesic; TransportToMean those at samples to their mean
//	Develop       rolls a path of R^m onto the manifold by a frame
//	Transform     moves points of space by the flow of a geodesic of landmarks
//	Deform        the derivative of this flow at points of space
//	Match         deforms a source towards a target, against a data term with noise σ
//	Register      deforms a template towards all objects of one subject
//	Align         moves subjects to another one by rotations, shifts and scales
//	Fit           a linear model, by least squares
//	Regress       a geodesic, or a template that moves, as a function of covariates
//	Grow          a geodesic per subject, and how these vary
//	Predict       what a linear model expects for given covariates
//	At            the point of a result for given scores, times or covariates
//	Bridge        simulates paths with both ends given
//	Sample        draws from a posterior
//	Read, Write   a file; Parse reads text
//	Check         an error if its argument is not valid
//	Fits          an error where points are outside the region in which a computation holds
//
// # Results
//
// Fields of results, whatever the package. Types may say more:
//
//	Status        how the search ended, "unknown" of what nothing has computed; Err is an error unless this is Converged
//	Iterations    steps of the search; of a logarithm the evaluations of Exp, too
//	Evaluations   how often the objective and its gradient were computed
//	Objective     the value of what was minimised
//	Gradient      the norm of its derivative, 0 at a minimum
//	Residual      by how much the equation that defines the result is missed: a root mean square over the coordinates, in their
//	              unit; of a landmarks.Matching the share √(Mismatch/Before)
//	Imbalance     the derivative with respect to a mean or template divided by its standard error
//	Unsettled     by how much the equations of the geodesics to the samples are missed: of a mean relative to the spread of the samples, of
//	              an atlas relative to the momenta
//	Mismatch      what is left between the model and the data, a squared distance
//	Before        the Mismatch before the search
//	Noise         a standard deviation of the measurement noise: of a coordinate, of a whole observation or, for curves and surfaces, in their
//	              norm
//	Variance      a variance, in squared lengths
//	P             the p-value of a permutation test
//	Scores        coordinates of the samples along the axes of a result
//	Energy        ½ ∫ ‖velocity‖² dt of a path, in its metric
//	Drift         the largest relative change of the energy along a geodesic
//	StepError     the error of the time steps, estimated with other steps
//	StandardError of the estimate, in its unit
//	EffectiveSize how many independent draws of equal weight the draws are worth
//	Unmatched     the samples, by their numbers, to which no geodesic or path was found
//	Diverged      how many paths left the chart or had steps that were too long
//	Point, Mean   the estimated point
//	Points        the points that a result speaks of
//	Groups, Means the names of the groups in the order of their first samples; the means of groups
//	Path, Times   the points of a path, and the times of points or observations
//	Velocities    tangent vectors: along a path, from a mean to its samples, or slopes
//	Momentum, Momenta   the covectors of such vectors
//	Weights       of the samples, with the sum 1
//
// # Errors
//
// Graph functions panic if shapes do not fit, with the shapes in the message. Host functions return errors that say what was
// wrong, where, and what to do. An iteration that stops early returns the best point found and no error: the result's Status says
// how it ended, and its method Err turns a Status other than Converged into an error. A program asks by errors.Is for ErrNotConverged,
// ErrCancelled, ErrCutLocus, ErrUnreached and ErrOffManifold. A method of a nil result panics: the call that
// should have made it has failed.
package geom
