package viz

import (
	"bytes"
	"image"
	"image/gif"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// Slider makes a picture that the reader changes with a slider: frame(i) is the figure for values[i] of the named quantity
// (time along a geodesic, a mode from −3 to +3 standard deviations, the width of a kernel). Write the unit with the quantity,
// "σ (mm)": a frame is then called "σ = 2 mm". All frames are drawn beforehand
// and share their axes and the factor of their arrows; the HTML holds them and needs no other file and no network, in a notebook
// and in its report. Figures in space seen from one side that have one title and legend, and the same marks at other places and
// in other colours, such as a surface along a mode, can be turned there, too: the HTML then holds the marks once, and where they
// are in every frame. On paper some of the frames stand side by side, the first and the last among them. Saved as .gif it is an
// animation, for instance of a surface that turns:
//
//	viz.Save("turn.gif", viz.Slider("azimuth", degrees, func(i int) *viz.Figure { return viz.Fig(surface).Camera(degrees[i], 30) }))
func Slider(quantity string, values []float64, frame func(i int) *Figure) Drawing {
	return &slider{quantity, values, frame}
}

type slider struct {
	quantity string
	values   []float64
	frame    func(i int) *Figure
}

const (
	maxFrames = 200
	frameDots = 7 * cssDots / 4 // dots an inch: coarser than a still picture, there are many
)

func (s *slider) sheet() (print *sheet, err error) {
	defer try.Catch(&err)
	n := len(s.values)
	try.FailIf(n == 0 || n > maxFrames, "Slider: %d values: give 1 to %d", n, maxFrames)
	figures := lists.Make(n, func(i int) *Figure {
		try.FailIf(!lists.Finite(s.values[i]), "Slider: value %d is %v", i, s.values[i])
		return s.frame(i)
	})
	texts := moments(s.quantity, s.values)
	scenes := scenes(figures, func(i int) string { return "at " + texts[i] }, func(i int, _ *Layer) any { return i })
	print, err = onPaper(scenes, texts)
	try.Do(try.Name(err, "Slider"))
	size, zoom := vg.Point{X: pageWidth * cm}, sliderZoom
	if w := figures[0].width; w > 0 {
		size.X, zoom = vg.Length(w)*cm, 1
	}
	for _, scene := range scenes {
		scene.outside = len(scene.legend.keys) > 0 // a legend that moved from frame to frame would distract
		size.Y = max(size.Y, scene.naturalHeight(size.X))
	}
	for _, scene := range scenes {
		try.Do(try.Name(scene.checkRoom(size), "Slider"))
	}
	stills, all := make([]*sheet, len(scenes)), make([]panel, len(scenes))
	for i, scene := range scenes {
		all[i] = panel{scene, vg.Rectangle{Max: size}}
		stills[i] = &sheet{size: size, panels: all[i : i+1]}
	}
	if !scenes[0].chart {
		oneScale(all)
	}
	print.extra = &animation{quantity: s.quantity, values: s.values, frames: stills, zoom: zoom}
	return print, nil
}

// onPaper sets some frames at equal distances side by side: as many as divide the way from the first to the last evenly.
func onPaper(frames []*scene, texts []string) (*sheet, error) {
	last, count := len(frames)-1, evenly(len(frames), 6, 3, 6)
	tiles := &layout{scenes: make([]*scene, count), columns: min(3, count), width: 17 * cm, shared: true}
	for i := range tiles.scenes {
		k := i * last / max(1, count-1)
		tile, figure := *frames[k], *frames[k].Figure
		tile.Figure = &figure
		figure.height = 0
		if figure.title != "" {
			figure.title += ", "
		}
		figure.title += texts[k]
		tiles.scenes[i] = &tile
	}
	for row := range slices.Chunk(tiles.scenes, tiles.columns) {
		closeUp(row)
	}
	tiles.gather()
	return tiles.sheet()
}

// closeUp gives shapes without axes the range in y that they take in one row, so that a shape that moves up leaves no room in the others.
func closeUp(row []*scene) {
	if s := row[0]; s.chart || s.inSpace || !s.bare {
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range row {
		each(s.marks, func(p []float64) { lo, hi = min(lo, p[1]), max(hi, p[1]) })
	}
	for _, s := range row {
		s.bounds.lo[1], s.bounds.hi[1] = lo, hi
	}
}

// withUnit is a quantity with its unit.
var withUnit = regexp.MustCompile(`^(.*\S) \(([^()]+)\)$`)

// moments says at which value of the quantity each frame is, "t = 0.5", or "σ = 2 mm" of "σ (mm)".
func moments(quantity string, values []float64) []string {
	unit := ""
	if m := withUnit.FindStringSubmatch(quantity); m != nil {
		quantity, unit = m[1], " "+m[2]
	}
	return lists.Each(apart(values...), func(text string) string { return quantity + " = " + text + unit })
}

// An animation is the frames of a slider, laid out.
type animation struct {
	quantity string
	values   []float64
	frames   []*sheet
	zoom     float64 // the size on a page
	plays    bool    // by itself, see Play
}

// html returns a fragment of HTML: the frames, a slider and a button that plays them. It begins at three quarters of the
// way, where a motion shows more than at its ends or, for a mode, at the mean; what plays rests half-way, where the shapes at its ends are
// seen, too. Without JavaScript it stays there.
func (a *animation) html() string {
	plain, keys := a.apart()
	first := 3 * (len(a.frames) - 1) / 4
	if a.plays {
		first = (len(a.frames) - 1) / 2
	}
	if t := plain.turned(first); t != nil {
		t.keys = keys
		return t.html()
	}
	width, texts := int(a.zoom*a.frames[first].size.X.Dots(cssDots)), moments(a.quantity, a.values)
	pictures := make([]fields, len(plain.frames))
	pool.Each(len(pictures), func(i int) {
		picture := plain.frames[i].raster(frameDots)
		pictures[i] = pictureField(texts[i], width, encodePNG(indexed(picture, paletteOf(picture)), frameDots), i != first)
	})
	// The script finds its own figure, so any number of sliders on a page, also copies of one, work side by side.
	return page("slider", fields{"Alt": a.alt(), "Class": a.frames[first].class(), "Pictures": pictures, "Keys": keys, "Width": width,
		"Last": len(pictures) - 1, "First": first, "Quantity": a.quantity, "Script": sliderScript})
}

// apart returns the animation without the entries of its legend, and these for a page; or as it is, if they change from frame to frame.
func (a *animation) apart() (*animation, []fields) {
	out, legend := *a, a.frames[0].panels[0].scene.legend
	out.frames = make([]*sheet, len(a.frames))
	for i, f := range a.frames {
		if !f.panels[0].scene.legend.alike(legend) {
			return a, nil
		}
		out.frames[i] = f.withoutKeys()
	}
	return &out, legend.fields()
}

// gif returns the frames as an animation that repeats, in the colours of the frame in the middle and the two ends.
func (a *animation) gif() []byte {
	last := len(a.frames) - 1
	colours := paletteOf(a.frames[0].raster(frameDots), a.frames[last/2].raster(frameDots), a.frames[last].raster(frameDots))
	g := gif.GIF{Image: make([]*image.Paletted, len(a.frames)), Delay: make([]int, len(a.frames))}
	pool.Each(len(a.frames), func(i int) {
		g.Image[i], g.Delay[i] = indexed(a.frames[i].raster(frameDots), colours), 12 // hundredths of a second
	})
	var out bytes.Buffer
	sure(0, gif.EncodeAll(&out, &g))
	return out.Bytes()
}
