// Package viz draws shapes: landmarks and outlines, tangent vectors and momenta, geodesics, deformation grids, samples
// with their mean and covariance, surfaces and points in space, and the curves of a computation (convergence, energy,
// distributions). Pictures go into a notebook cell with Show or into a file with Save.
//
// # Layers, figures, panels
//
// A layer is one thing to draw: Outline, Region, Points, Numbers, Arrows, Lines, Grid, Trajectories, Ellipses; Series,
// Scatter, Band, Histogram, HLine, VLine; Tree, Phylomorphospace, Names; Surface, Ellipsoid, Mesh, Density. Its methods set its looks and return it, so
// that they chain. Of several layers each is drawn over those before it:
//
//	viz.Show(viz.Outline(path...).ColorBy("t"), viz.Arrows(q, v).Label("v₂"))
//
// Fig makes a figure of layers, which can have a title, units, a size and a camera; Row and Tiles set figures side by side;
// Slider shows one of many frames, Play moves a shape along a path, Drag lets the reader take hold of a geodesic, and figures
// in space can be turned and enlarged: in a notebook and in its HTML report, without a network. In PDF all of them are
// still pictures. What Slider and Play make is saved as an animation, too:
//
//	a := viz.Fig(viz.Outline(sample...), viz.Outline(mean).Color(viz.Black).Label("mean")).Unit("mm").Title("(a) sample")
//	b := viz.Fig(viz.Grid(lines...), viz.Outline(q)).Unit("mm").NoAxes()
//	viz.Save("figure1.pdf", viz.Row(a, b))
//	viz.Save("mode1.gif", viz.Slider("c", c, func(i int) *viz.Figure { return viz.Fig(viz.Outline(mode[i])) }))
//
// Point sets are [][]float64, one row a landmark, with 2 or 3 coordinates. The same layers draw both: with 3 coordinates
// the figure is in space, is seen from the direction of Figure.Camera, or from several with Views, and surfaces hide what lies behind. A shape is
// the list of its landmarks, and Outline draws their closed outline.
//
// # What is decided for you
//
// Shapes always have axes of equal scale. Colours are those of Okabe & Ito; a layer without a colour takes one that no
// other layer of its figure was given. Ordered values run from dark blue to yellow-green, and lightness rises evenly; on
// surfaces, whose form light shows, from blue to orange of nearly even lightness; values of both signs on surfaces and areas have white at 0.
// Groups in a Scatter have marks of different shapes. Layers coloured by
// a quantity of the same name have one scale of colours in all panels of a drawing. A figure is 8.5 cm wide, panels
// together 17 cm: one and two columns of a journal; text has the sizes that journals ask for; titles and
// labels that are wider than their panel are broken into lines, and the label of an axis is made smaller. The legend takes a corner in
// which nothing is drawn, or stands beneath the axes; what all panels have in common stands once beneath them. Arrows too
// short or too long to read are scaled by a round factor, which the legend states. Text is drawn as outlines, so that a
// file needs no fonts; a letter that the font of figures lacks, as of a name in Japanese, is a box. In SVG and PDF a figure of thousands of marks is an image between vector axes. Pictures are drawn on
// white; what a reader can move follows a page that is dark. Every picture has an alternative text for readers who do not see it.
//
// # Errors
//
// Points that are not numbers, empty shapes, sizes and dimensions that do not match, values that are not positive on a
// logarithmic axis: Save returns an error and writes no file, Show panics with the error. It
// names layer, shape and landmark, counted from 0.
package viz
