package viz

import (
	"fmt"
	"image/color"
	"strings"

	"golang.org/x/image/colornames"

	"anatomy/internal/lists"
)

// Plot draws a line as Python's plot does: Plot(y) over 0, 1, 2, … or Plot(x, y), and behind them how, in any order: a colour of CSS or its first
// letter ("red", "steelblue", "g"), "--" for dashes, "o" for dots in place of the line, or these together ("r--"). Lists are []float64 or []int.
// Blue, red, green, orange, purple and grey are those of this package.
func Plot(first any, more ...any) *Layer {
	var all [][]float64
	var how []string
	draw, wrong := Series, ""
	for _, a := range append([]any{first}, more...) {
		switch a := a.(type) {
		case []float64:
			all = append(all, a)
		case []int:
			all = append(all, lists.Each(a, func(v int) float64 { return float64(v) }))
		case string:
			if rest, dots := strings.CutSuffix(a, "o"); dots && len(rest) <= 1 {
				draw, a = Scatter, rest
			}
			how = append(how, a)
		default:
			wrong = fmt.Sprintf(" and a %T", a)
		}
	}
	given := len(all)
	if given == 1 {
		all = [][]float64{lists.Make(len(all[0]), func(i int) float64 { return float64(i) }), all[0]}
	}
	if len(all) == 2 && wrong == "" {
		return draw(all[0], all[1]).styled(how)
	}
	return Series(nil, nil).fail("Plot takes y, or x and y, as []float64 or []int, and texts such as \"red\", and not %d lists%s: "+
		"draw several lines by viz.Fig(viz.Plot(x, y), viz.Plot(x, z))", given, wrong)
}

// Hist draws the distribution of values as Histogram does, with a number of bars that follows from the values unless it is given.
func Hist(values []float64, bins ...int) *Layer {
	return Histogram(values, append(bins, 0)[0])
}

// everyday are the colours of this package by the names that people give them.
var everyday = map[string]color.NRGBA{"b": Blue, "blue": Blue, "r": Vermilion, "red": Vermilion, "g": Green, "green": Green, "k": Black,
	"orange": Orange, "purple": Purple, "pink": Purple, "m": Purple, "c": Sky, "y": Orange, "grey": Grey, "gray": Grey}

// styled gives a layer a colour and dashes by words.
func (l *Layer) styled(how []string) *Layer {
	for _, h := range how {
		name, dashed := strings.CutSuffix(strings.ToLower(h), "--")
		l.dashed = l.dashed || dashed
		own, known := everyday[name]
		css, is := colornames.Map[name]
		switch {
		case known:
			l.Color(own)
		case is:
			l.Color(css)
		case strings.Trim(name, "-") != "":
			l.fail("there is no colour %q: write \"red\" or another name of CSS, or viz.Vermilion behind .Color", name)
		}
	}
	return l
}

// Show shows the layer, as it does where it is the last line of a cell; so do the other drawings.
func (l *Layer) Show()  { Show(l) }
func (f *Figure) Show() { Show(f) }
func (p *Panels) Show() { Show(p) }
func (s *slider) Show() { Show(s) }
