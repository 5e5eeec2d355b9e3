package viz

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/lucasb-eyer/go-colorful"
	"gonum.org/v1/plot/vg"
)

// Limits of what can be measured of a picture.
const (
	mostEmpty    = 0.5  // share of the field of a panel that lies outside the rectangle about its data and their names
	flattest     = 0.3  // height to width of data that fill no field: a line needs room above and below
	leastLetters = 6.0  // points: journals ask for 6 to 8
	leastInk     = 4.5  // contrast of letters with the paper, for normal text by WCAG 2.2
	leastMark    = 1.9  // contrast of a line or dot with the paper; that of the light end of the ramp and of a grid in light grey
	leastApart   = 10.0 // distance of the colours of two marks of one kind by CIEDE2000, for each kind of colour vision
)

// visions are the kinds of colour vision: normal, and without one kind of cones (Machado, Oliveira & Fernandes, IEEE Trans. Visualization and
// Computer Graphics 15, 2009), as matrices for linear red, green and blue.
var visions = map[string][3][3]float64{
	"everybody":             {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"readers without red":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"readers without green": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"readers without blue":  {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// faults says what a reader would not see well in a picture, of what can be measured: a field that is mostly empty, letters that are small,
// pale or written over others, and two entries of a legend whose marks look alike.
func (s *sheet) faults() (all []string) {
	if letters := float64(s.letters()); letters < leastLetters {
		all = append(all, fmt.Sprintf("letters have %.1f points, of %v at least", letters, leastLetters))
	}
	var filled vg.Point // of the field, by panels of one scale together: the largest fills it
	for _, p := range s.panels {
		say := func(format string, args ...any) {
			where := ""
			if p.scene.title != "" {
				where = fmt.Sprintf("panel %q: ", p.scene.title)
			}
			all = append(all, where+fmt.Sprintf(format, args...))
		}
		f := p.scene.frame(p.scene.inner(p.at))
		stamps := p.scene.stamps(f)
		if wrong := p.scene.chart || len(stamps) == 0 || p.scene.ratio() <= flattest; !wrong {
			size := stretch(stamps)
			if p.scene.coarsest > 0 {
				filled = vg.Point{X: max(filled.X, size.X), Y: max(filled.Y, size.Y)}
				size = filled
			}
			field := f.area.Size()
			if empty := 1 - float64(size.X*size.Y/(field.X*field.Y)); empty > mostEmpty {
				say("%.0f %% of the field is empty, of %.0f at most", 100*empty, 100*mostEmpty)
			}
		}
		words := slices.DeleteFunc(stamps, func(s stamp) bool { return s.text == "" })
		for i, a := range words {
			if got := contrast(a.fill); got < leastInk {
				say("%q has a contrast of %.1f with the paper, of %v at least", a.text, got, leastInk)
			}
			for _, b := range words[:i] {
				if meet(a.box(-1), b.box(-1)) {
					say("%q is written over %q", a.text, b.text)
				}
			}
		}
		p.scene.legend.faults(say)
	}
	s.legend.faults(func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) })
	return all
}

// faults says which entries are pale, or look alike to some readers.
func (a legend) faults(say func(format string, args ...any)) {
	for i, k := range a.keys {
		if got := contrast(k.ink()); got < leastMark && k.ink().A > 0 {
			say("%q has a contrast of %.2f with the paper, of %v at least", k.text, got, leastMark)
		}
		for _, other := range a.keys[:i] {
			for who := range visions {
				if far := apartFor(who, k.ink(), other.ink()); far < leastApart && k.likeKind(other) {
					say("for %s %q and %q are %.0f apart, of %v at least", who, other.text, k.text, far, leastApart)
				}
			}
		}
	}
}

// stretch is the size of the rectangle about all that is drawn.
func stretch(all []stamp) vg.Point {
	var ink []vg.Point
	for _, s := range all {
		if s.text == "" {
			ink = append(ink, s.at...)
		} else {
			ink = append(ink, s.box(0).Min, s.box(0).Max)
		}
	}
	low, high := extremes(ink)
	return high.Sub(low)
}

// box is the place of a word, smaller by a rim.
func (s stamp) box(rim vg.Length) vg.Rectangle {
	half := textBox(s.text).Scale(0.5).Add(vg.Point{X: rim, Y: rim})
	return vg.Rectangle{Min: s.at[0].Sub(half), Max: s.at[0].Add(half)}
}

// ink is the colour of the sample of an entry; of no opacity, if it has several.
func (k key) ink() color.NRGBA {
	if len(k.sample) == 0 || k.layer.byValue {
		return color.NRGBA{}
	}
	if m := k.sample[0]; m.fill.A == 0 {
		return m.stroke.Color
	}
	return ownColour(k.layer)
}

// likeKind reports whether only their colours tell two entries apart.
func (k key) likeKind(other key) bool {
	if len(k.sample) == 0 || len(other.sample) == 0 || k.ink().A == 0 || other.ink().A == 0 {
		return false
	}
	a, b := k.sample[0], other.sample[0]
	return a.kind == b.kind && a.shape == b.shape && a.stroke.Dashed == b.stroke.Dashed && a.stroke.Width == b.stroke.Width && a.radius == b.radius
}

// contrast is that of a colour with white paper, as WCAG defines it, from 1 to 21.
func contrast(c color.NRGBA) float64 {
	r, g, b := printed(c).LinearRgb()
	return 1.05 / (0.2126*r + 0.7152*g + 0.0722*b + 0.05)
}

// printed is a colour as it looks on white paper.
func printed(c color.NRGBA) colorful.Color {
	ink := colorful.Color{R: float64(c.R) / 255, G: float64(c.G) / 255, B: float64(c.B) / 255}
	return colorful.Color{R: 1, G: 1, B: 1}.BlendRgb(ink, float64(c.A)/255)
}

// apartFor is the distance of two colours for a kind of colour vision.
func apartFor(who string, a, b color.NRGBA) float64 {
	seen := func(c color.NRGBA) colorful.Color {
		r, g, b := printed(c).LinearRgb()
		var out [3]float64
		for k, row := range visions[who] {
			out[k] = math.Max(0, math.Min(1, row[0]*r+row[1]*g+row[2]*b))
		}
		return colorful.LinearRgb(out[0], out[1], out[2])
	}
	return 100 * seen(a).DistanceCIEDE2000(seen(b))
}
