package viz

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"anatomy/internal/lists"
)

// alt returns the alternative text of a sheet, for readers who do not see it: the title; every layer with what the legend says of it, its
// colour, and where it lies or leads; the range of the axes; and letters for which boxes are drawn, since the font lacks them. Show sends it
// with the picture as plain text; SVG and HTML files hold it.
func (s *sheet) alt() string {
	text := readable(s.description())
	drawn := text
	for _, p := range s.panels {
		for _, m := range p.scene.marks {
			drawn += readable(m.text)
		}
	}
	if letters := lacking(drawn); len(letters) > 0 {
		names := strings.Join(letters[:min(len(letters), 10)], " ")
		if len(letters) > 10 {
			names += " …"
		}
		text += " A box □ stands for a letter that the font lacks: " + names + "."
	}
	return text
}

// readable is a text without what XML cannot hold.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '□'
		}
		return r
	}, strings.ToValidUTF8(text, "□"))
}

// description describes the panels one after the other, and what they share.
func (s *sheet) description() string {
	if a, ok := s.extra.(*animation); ok {
		return a.alt()
	}
	out := lists.Each(s.panels, func(p panel) string { return p.scene.alt() })
	if text := s.legend.alt(); text != "" {
		out = append(out, "Legend: "+text+".")
	}
	return strings.Join(out, " ")
}

func (a *animation) alt() string {
	kind := fmt.Sprintf("%d pictures", len(a.values))
	if a.plays {
		kind = "Animation"
	}
	values := apart(a.values...)
	first, last := a.frames[0].panels[0].scene, a.frames[len(a.frames)-1].panels[0].scene
	return fmt.Sprintf("%s, %s from %s to %s. In the first: %s%s", kind, a.quantity, values[0], values[len(values)-1], first.alt(), first.moved(last))
}

// title joins the titles of the panels.
func (s *sheet) title() string {
	titles := lists.Each(s.panels, func(p panel) string { return p.scene.title })
	return readable(strings.Join(lists.Filter(titles, func(title string) bool { return title != "" }), "; "))
}

func (s *scene) alt() string {
	var layers, seen []string
	for _, l := range s.layers {
		text := l.named()
		if factor := l.factor(); factor != "" {
			text += " (" + factor + ")"
		}
		if l.byValue {
			text += " coloured by " + l.span()
		}
		layers, seen = append(layers, text), append(seen, strings.Join(append([]string{text}, s.seen(l)...), ", "))
	}
	text := strings.Join(together(layers, seen), "; ") + ". "
	if s.title != "" {
		text = s.title + ": " + text
	}
	if s.inSpace {
		degrees := func(angle float64) string { return short(math.Round(angle * 180 / math.Pi)) }
		var sides []string
		for k, name := range "xyz" {
			sides = append(sides, fmt.Sprintf("%c from %s", name, strings.Join(apart(s.reach.lo[k], s.reach.hi[k]), " to ")))
		}
		if s.unit != "" {
			sides[2] += " " + s.unit
		}
		return text + fmt.Sprintf("In space, %s; seen from azimuth %s° and elevation %s°.", strings.Join(sides, ", "), degrees(s.camera.azimuth), degrees(s.camera.elevation))
	}
	names := [2]string{s.xLabel, s.yLabel}
	for k, log := range [2]bool{s.logX, s.logY} {
		lo, hi := s.bounds.lo[k], s.bounds.hi[k]
		if log {
			lo, hi = math.Pow(10, lo), math.Pow(10, hi)
		}
		if names[k] == "" {
			names[k] = "xy"[k : k+1]
		}
		names[k] += " from " + strings.Join(apart(lo, hi), " to ")
		if log {
			names[k] += ", logarithmic"
		}
		if s.unit != "" && !s.chart {
			names[k] += " " + s.unit
		}
	}
	if s.rows > 0 {
		return text + names[0] + "."
	}
	return text + strings.Join(names[:], "; ") + "."
}

// together counts layers that follow each other and have the same text: "line", "line" becomes "2 × line". One that stands alone is called as
// what is seen of it.
func together(layers, seen []string) (out []string) {
	for i := 0; i < len(layers); {
		n := 1
		for i+n < len(layers) && layers[i+n] == layers[i] {
			n++
		}
		text := seen[i]
		if n > 1 {
			text = fmt.Sprintf("%d × %s", n, layers[i])
		}
		out, i = append(out, text), i+n
	}
	return out
}

func (a legend) alt() string {
	return strings.Join(append(lists.Each(a.bars, (*Layer).span), lists.Each(a.keys, func(k key) string { return k.text })...), ", ")
}
