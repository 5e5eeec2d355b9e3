package viz

import (
	"image/color"
	"math"

	"github.com/lucasb-eyer/go-colorful"

	"anatomy/internal/lists"
)

// The colours of Okabe & Ito (2008), which readers with every common form of colour blindness can tell apart, with white
// and two greys. Layers that were given no colour take Blue, Vermilion, Green, Sky, Orange and Purple in this order, without
// those that another layer of the figure was given.
var (
	Black     = color.NRGBA{0x00, 0x00, 0x00, 0xff}
	paper     = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	Blue      = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Vermilion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	Green     = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	Purple    = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	Orange    = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	Sky       = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	Grey      = color.NRGBA{0x70, 0x70, 0x70, 0xff}
	LightGrey = color.NRGBA{0xbd, 0xbd, 0xbd, 0xff}
)

var palette = []color.NRGBA{Blue, Vermilion, Green, Sky, Orange, Purple} // the first four are 25 apart in CIELAB, also without red or green cones

// rampColour is the colour map for time and other ordered values: t = 0 is dark blue, t = 1 yellow-green. Lightness rises
// linearly in the perceptual space OKLab (Ottosson 2020), so that equal steps look equal, in colour and printed in grey;
// the light end is still dark enough for lines on white. A t outside [0, 1] is moved to its nearer end.
func rampColour(t float64) color.NRGBA {
	t = math.Min(1, math.Max(0, t))
	return within(0.34+0.49*t, 0.17, 285-175*t)
}

// levelColour is the colour map for values on a surface, whose form light shows: from blue over green to orange, of nearly even lightness
// in OKLab.
func levelColour(t float64) color.NRGBA { return within(0.66+0.12*t, 0.14, 265-205*t) }

// signedColour is the colour map for values with a sign on surfaces and areas: blue at t = 0, white in the middle, vermilion at t = 1.
func signedColour(t float64) color.NRGBA {
	strength, hue := math.Abs(2*t-1), 250.0
	if t > 0.5 {
		hue = 45
	}
	return within(0.98-0.38*strength, 0.17*strength, hue)
}

// within returns a colour of OKLab (Ottosson 2020), as strong as sRGB has it; the hue is in degrees.
func within(lightness, chroma, hue float64) color.NRGBA {
	for ; ; chroma -= 0.005 {
		if c := colorful.OkLch(lightness, math.Max(0, chroma), hue); c.IsValid() || chroma <= 0 {
			r, g, b := c.Clamped().RGB255()
			return color.NRGBA{r, g, b, 0xff}
		}
	}
}

// signed reports whether the layer's colours are those of values of both signs.
func (l *Layer) signed() bool { return l.filled && l.lo < 0 && l.hi > 0 }

// tone returns where a value is in the layer's colour map, from 0 to 1: a value of 0 in the middle, if values have both signs.
func (l *Layer) tone(v float64) float64 {
	switch {
	case l.signed():
		return 0.5 + 0.5*v/math.Max(-l.lo, l.hi)
	case l.hi > l.lo:
		return (v - l.lo) / (l.hi - l.lo)
	}
	return 0.5
}

// tones returns those of all values, or nil if the layer has one colour.
func (l *Layer) tones() []float64 {
	if !l.byValue {
		return nil
	}
	return lists.Each(l.values, l.tone)
}

// colour returns a colour of the layer's map.
func (l *Layer) colour(t float64) color.NRGBA {
	switch t = math.Min(1, math.Max(0, t)); {
	case l.signed():
		return signedColour(t)
	case l.form:
		return levelColour(t)
	}
	return rampColour(t)
}

// fade returns c with its opacity multiplied by f.
func fade(c color.NRGBA, f float64) color.NRGBA {
	c.A = uint8(math.Round(float64(c.A) * f))
	return c
}
