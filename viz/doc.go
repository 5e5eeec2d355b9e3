// Package viz draws shapes: landmarks and outlines, tangent vectors and momenta, geodesics, deformation grids, samples
// with their mean and covariance, surfaces and points in space, and the curves of a computation (convergence, energy,
// distributions). Pictures go into a notebook cell with Show or into a file with Save.
//
// # Layers, figures, panels
//
// A layer is one thing to draw: Outline, Region, Points, Numbers, Arrows, Lines, Grid, Trajectories, Ellipses; Series,
// Scatter, Band, Histogram, HLine, VLine; Surface, Ellipsoid, Mesh, Density. Its methods set the looks and chain. Layers given
// together are drawn over each other, the first undermost:
//
//	viz.Show(viz.Outline(path...).ColorBy("t"), viz.Arrows(q, v).Label("v₂"))
//
// Fig makes them a figure, which can have a title, units, a size and a camera; Row and Tiles set figures side by side;
// Slider makes frames that the reader moves through, and figures in space can be turned with the mouse, in a notebook and
// in its HTML report; in PDF they are still pictures. A slider is saved as an animation, too:
//
//	a := viz.Fig(viz.Outline(sample...), viz.Outline(mean).Color(viz.Black).Label("mean")).Unit("mm").Title("(a) sample")
//	b := viz.Fig(viz.Grid(lines...), viz.Outline(q)).Unit("mm").NoAxes()
//	viz.Save("figure1.pdf", viz.Row(a, b))
//	viz.Save("mode1.gif", viz.Slider("c", c, func(i int) *viz.Figure { return viz.Fig(viz.Outline(mode[i])) }))
//
// Point sets are [][]float64, one row a landmark, with 2 or 3 coordinates. The same layers draw both: with 3 the figure
// is in space, seen from Figure.Camera without perspective, and what lies behind a surface is hidden.
//
// # What is decided for you
//
// Shapes always have axes of equal scale. Colours are those of Okabe & Ito, ordered values run through Ramp, whose
// lightness is even. A figure is 8.5 cm wide, panels together 17 cm: one and two columns of a journal; text has the
// sizes that journals ask for. The legend takes a corner in which nothing is drawn, or stands beneath the axes. Arrows
// too short or long to read are scaled by a round factor, which the legend states. Text is drawn as outlines: a file
// needs no fonts. In SVG and PDF a figure of thousands of marks is an image between vector axes.
//
// # Errors
//
// Points that are no numbers, empty shapes, sizes and dimensions that do not match, values that are not positive on a
// logarithmic axis, letters that the font lacks: Save returns an error, Show panics with it. It names layer, shape and
// landmark, counted from 0. No file is written then.
//
// # Adding a layer
//
// A layer is a name and a function that puts marks on a Canvas in data coordinates; the name stands in errors. Range,
// projection, hidden parts, legend and colours follow by themselves. A layer that joins corresponding landmarks:
//
//	func Links(a, b [][]float64) *viz.Layer {
//		return viz.NewLayer("Links", func(c *viz.Canvas) error {
//			if len(a) != len(b) {
//				return fmt.Errorf("%d and %d landmarks", len(a), len(b))
//			}
//			for i := range a {
//				c.Line([][]float64{a[i], b[i]}, false, c.Stroke(i, 0.5))
//			}
//			return nil
//		})
//	}
package viz
