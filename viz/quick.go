package viz

import (
	"fmt"
	"image/color"
	"strings"

	"golang.org/x/image/colornames"
)

// Plot draws a line as Python's plot does: Plot(y) over 0, 1, 2, … or Plot(x, y), and behind them how, in any order: a colour of CSS or its first
// letter ("red", "steelblue", "g"), "--" for dashes, "o" for dots in place of the line, or these together ("r--"). Lists are []float64 or []int.
// Blue, red, green, orange, purple and grey are those of this package.
func Plot(first any, more ...any) *Layer {
	var lists [][]float64
	var how []string
	for _, a := range append([]any{first}, more...) {
		switch a := a.(type) {
		case []float64:
			lists = append(lists, a)
		case []int:
			lists = append(lists, decimals(a))
		case string:
			how = append(how, a)
		default:
			return styled(Series(nil, nil), nil, fmt.Errorf("Plot takes lists of numbers, []float64 or []int, and texts such as \"red\"; this is a %T", a))
		}
	}
	switch len(lists) {
	case 1:
		lists = [][]float64{make([]float64, len(lists[0])), lists[0]}
		for i := range lists[0] {
			lists[0][i] = float64(i)
		}
	case 2:
	default:
		return styled(Series(nil, nil), nil, fmt.Errorf("Plot takes y, or x and y; these are %d lists: draw several lines by viz.Fig(viz.Plot(x, y), viz.Plot(x, z))", len(lists)))
	}
	draw := Series
	for i, h := range how {
		if rest, dots := strings.CutSuffix(h, "o"); dots && (rest == "" || len(rest) == 1) {
			draw, how[i] = Scatter, rest
		}
	}
	return styled(draw(lists[0], lists[1]), how, nil)
}

// Hist draws the distribution of values as Histogram does, with a number of bars that follows from the values unless it is given.
func Hist(values []float64, bins ...int) *Layer {
	return Histogram(values, append(bins, 0)[0])
}

func decimals(values []int) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// everyday are the colours of this package by the names that people give them.
var everyday = map[string]color.NRGBA{"b": Blue, "blue": Blue, "r": Vermilion, "red": Vermilion, "g": Green, "green": Green, "k": Black, "orange": Orange,
	"purple": Purple, "pink": Purple, "m": Purple, "c": Sky, "y": Orange, "grey": Grey, "gray": Grey}

// styled gives a layer a colour and dashes by words, or an error.
func styled(l *Layer, how []string, err error) *Layer {
	if err != nil {
		l.fail("%w", err)
	}
	for _, h := range how {
		name, dashed := strings.CutSuffix(h, "--")
		if dashed {
			l.Dashed()
		}
		if name = strings.ToLower(strings.TrimSuffix(name, "-")); name == "" {
			continue
		}
		if c, ok := everyday[name]; ok {
			l.Color(c)
		} else if c, ok := colornames.Map[name]; ok {
			l.Color(c)
		} else {
			l.fail("there is no colour %q: write \"red\" or another name of CSS, or viz.Vermilion behind .Color", name)
		}
	}
	return l
}
