package viz

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// A layer of any kind is coloured by values, scaled, and stands in the legend, and refuses what means nothing to it.
func TestLayerOfOnesOwn(t *testing.T) {
	at := [][]float64{{0, 0}, {1, 0}, {2, 0}}
	spikes := func(drawn int) *Layer {
		return newLayer(traits{name: "Spikes", takes: "ColorBy Scale", factorOf: "m", items: len(at)}, func(c *canvas) {
			for i := range drawn {
				p := at[i%len(at)]
				c.line([][]float64{p, {p[0], p[1] + c.layer.scale}}, false, c.stroke(i, 1))
			}
		})
	}
	s, err := Fig(spikes(3).ColorBy("height", 4, 5, 6).Scale(3).Label("spikes")).scene()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range s.marks {
		if m.stroke.Color != rampColour(float64(i)/2) || m.at[1][1] != 3 {
			t.Errorf("item %d: colour %v, height %v", i, m.stroke.Color, m.at[1][1])
		}
	}
	if len(s.legend.bars) != 1 || s.legend.bars[0].span() != "height: 4 to 6" {
		t.Errorf("%d colour bars", len(s.legend.bars))
	}
	if k := s.legend.keys[0]; k.text != "spikes (3 m)" {
		t.Errorf("the legend says %q with %d marks", k.text, len(k.sample))
	}
	for _, c := range []struct {
		layer *Layer
		want  string
	}{
		{spikes(3).ColorBy("height", 1), "Spikes: ColorBy(\"height\"): 1 values for 3 items"},
		{spikes(4).ColorBy("height"), "Spikes: item 3 is drawn, of 3 that the layer announced"},
		{Grid(at).Scale(2), "Grid: Scale means nothing"},
		{Outline(at).Hull(), "Outline: Hull means nothing to this layer: it is for Scatter"},
		{Scatter([]float64{1}, []float64{2}).Scale(2), "Scatter: Scale means nothing"},
		{Numbers(at).Hover("a", "b", "c"), "Numbers: Hover means nothing"},
	} {
		expect.Refused(t, expect.Error(Fig(c.layer).scene()), c.want)
	}
}

// The legend's sample is a mark of the kind that the layer drew first.
func TestSample(t *testing.T) {
	q := ring(5, 0, 0, 1, 1)
	for _, c := range []struct {
		layer *Layer
		want  markKind
	}{{Outline(q), lineMark}, {Points(q), dotMark}, {Arrows(q, q), arrowMark}, {Region(q), areaMark}, {Ellipsoid(1, 1, 1), areaMark}} {
		s, err := Fig(c.layer.Label("x")).scene()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.legend.keys[0].sample[0].kind; got != c.want {
			t.Errorf("%s: a mark of kind %d, want %d", c.layer.name, got, c.want)
		}
	}
}

// No layer takes by itself a colour that another was given, nor blue beside a ramp, which begins with it.
func TestAutomaticColours(t *testing.T) {
	q := ring(5, 0, 0, 1, 1)
	path := []shape.Shape{q, ring(5, 0, 0, 2, 1)}
	layers := Fig(Outline(q), Outline(q).Color(Vermilion), Trajectories(path), Outline(q)).coloured(ranges{})
	if *layers[0].tint != Green || *layers[1].tint != Vermilion || *layers[3].tint != Sky {
		t.Errorf("%v, %v, %v", *layers[0].tint, *layers[1].tint, *layers[3].tint)
	}
	var all []*Layer
	for _, c := range palette {
		all = append(all, Points(q).Color(c))
	}
	layers = Fig(append(all, Outline(q))...).coloured(ranges{})
	if *layers[len(palette)].tint != Blue {
		t.Error("where every colour is taken the first comes again")
	}
}

// A colour stands for one value in all panels, and what their legends have in common stands once beneath them.
func TestPanelsShareColours(t *testing.T) {
	panel := func(quantity string, hi float64) *Figure {
		return Fig(Points([][]float64{{0, 0}, {1, 1}}).ColorBy(quantity, 0, hi))
	}
	for _, c := range []struct {
		second, text string
		once         bool
	}{{"density", "density: 0 to 4", true}, {"distance", "density: 0 to 1", false}} {
		s, err := Row(panel("density", 1), panel(c.second, 4)).sheet()
		if err != nil {
			t.Fatal(err)
		}
		first := s.panels[0].scene
		if hi := first.layers[0].hi; (hi == 4) != c.once {
			t.Errorf("%s: the first panel's colours end at %v", c.second, hi)
		}
		bars := append(first.legend.bars, s.legend.bars...)
		if len(bars) != 1 || bars[0].span() != c.text || (len(s.legend.bars) == 1) != c.once {
			t.Errorf("%s: %d colour bars, %d of them common", c.second, len(bars), len(s.legend.bars))
		}
		for _, p := range s.panels {
			if p.at.Min.Y < s.legend.height(s.size.X) {
				t.Errorf("a panel at %v lies over the common legend", p.at)
			}
		}
	}
}

// With shared axes a shape has one size in all panels, whatever stands beside it.
func TestSharedAxesShareTheScale(t *testing.T) {
	q, x := ring(9, 0, 0, 20, 8), [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 2, 1}}
	for name, p := range map[string]*Panels{
		"a label":        Row(Fig(Outline(q)), Fig(Outline(q)).YLabel("y (mm)")),
		"a title and no": Tiles(1, Fig(Outline(q)).Title("q"), Fig(Outline(q))),
		"texts and none": Row(Fig(Outline(q), Numbers(q)), Fig(Outline(q)).NoAxes().Unit("mm")),
		"in space":       Row(Fig(Lines(x)).Title("x").Unit("mm"), Fig(Lines(x))),
	} {
		s := expect.Must(p.SharedAxes().sheet())
		sizes := func(s *sheet) (out [2]float64) {
			for i, p := range s.panels {
				f := p.scene.frame(p.scene.inner(p.at))
				d := f.place([]float64{1, 0}).Sub(f.place([]float64{0, 0}))
				out[i] = float64(d.X)
			}
			return out
		}
		sheets := []*sheet{s}
		if turned, ok := s.extra.(*turntable); ok {
			sheets = append(sheets, turned.sheet)
		}
		for _, s := range sheets {
			size := sizes(s)
			expect.Rel(t, name+": points of a unit in both panels", size[0], size[1], 1e-6)
		}
	}
}

// Arrows of one label have one factor in panels with shared axes and in all frames of a slider, in print, too: a tenth of a
// vector is drawn a tenth as long. Vectors of no length do not choose it.
func TestSharedArrows(t *testing.T) {
	q := ring(12, 0, 0, 5, 5)
	lengths := []float64{0, 0.01, 0.1, 1, 0.3}
	figure := func(length float64, label string) *Figure {
		return Fig(Outline(q), Arrows(q, constant(12, length, 0)).Label(label))
	}
	slider := func(lengths []float64, label string) *sheet {
		return expect.Must(Slider("s", lengths, func(i int) *Figure { return figure(lengths[i], fmt.Sprint(label, i)) }).sheet())
	}
	three := slider(lengths[:3], "v")
	for name, c := range map[string]struct {
		sheet   *sheet
		lengths []float64
		factor  float64
	}{
		"panels":         {expect.Must(Row(figure(1, "v"), figure(0.1, "v")).SharedAxes().sheet()), []float64{1, 0.1}, 1},
		"without labels": {expect.Must(Row(figure(0, ""), figure(0.1, "")).SharedAxes().sheet()), []float64{0, 0.1}, 20},
		"a slider":       {three, lengths[:3], 20},
		"a longer one":   {slider(lengths, "v"), lengths, 1},
		"its last frame": {three.extra.(*animation).frames[2], lengths[2:3], 20},
	} {
		for i, p := range c.sheet.panels {
			for _, m := range p.scene.marks {
				if m.kind == arrowMark {
					expect.Abs(t, name+": length of an arrow", m.at[1][0]-m.at[0][0], c.factor*c.lengths[i], 1e-12)
				}
			}
		}
	}
	// Other quantities have factors of their own.
	s := expect.Must(Row(figure(1, "velocity"), figure(100, "momentum")).SharedAxes().sheet())
	if one, two := s.panels[0].scene.layers[1].scale, s.panels[1].scene.layers[1].scale; one != 1 || two != 0.02 {
		t.Errorf("factors %v and %v", one, two)
	}
}

// The legend keeps away from the axes.
func TestLegendTouchesNoAxis(t *testing.T) {
	s, err := Fig(Points([][]float64{{0.5, 0.5}}).Label("p")).scene()
	if err != nil {
		t.Fatal(err)
	}
	f := s.frame(vg.Rectangle{Max: vg.Point{X: 200, Y: 150}})
	r, ok := s.legendPlace(f)
	if !ok || r.Min.X < f.area.Min.X+5 || r.Min.Y < f.area.Min.Y+5 || r.Max.X > f.area.Max.X-5 || r.Max.Y > f.area.Max.Y-5 {
		t.Errorf("the legend at %v stands in axes of %v", r, f.area)
	}
}

// A plain program is told once that Show has nowhere to show.
func TestShowOutsideNotebook(t *testing.T) {
	if os.Getenv("VIZ_SHOW") != "" {
		Show(Outline(ring(8, 0, 0, 1, 1)))
		Show(Outline(ring(8, 0, 0, 1, 1)))
		return
	}
	program := exec.Command(os.Args[0], "-test.run=^TestShowOutsideNotebook$")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, protocol.GONB_PIPE_ENV+"=") {
			program.Env = append(program.Env, v)
		}
	}
	program.Env = append(program.Env, "VIZ_SHOW=yes")
	out, err := program.CombinedOutput()
	if err != nil || strings.Count(string(out), "needs a notebook") != 1 || !strings.Contains(string(out), "viz.Save(") {
		t.Errorf("%v: %s", err, out)
	}
}
