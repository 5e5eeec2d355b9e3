package viz

import (
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Slider makes a picture that the reader moves: frame(i) is the figure at values[i] of the named quantity (time along
// a geodesic, a mode from −3 to +3 standard deviations, the width of a kernel). All frames are drawn beforehand and
// share their axes; the HTML holds them, needs no other file and no network, and so works in a notebook and in an
// exported report. Where HTML is not shown, in PDF, the middle frame stands for it.
func Slider(quantity string, values []float64, frame func(i int) *Figure) Drawing {
	return &slider{quantity, values, frame}
}

type slider struct {
	quantity string
	values   []float64
	frame    func(i int) *Figure
}

const maxFrames = 200

func (s *slider) sheet() (*sheet, error) {
	if n := len(s.values); n == 0 || n > maxFrames {
		return nil, fmt.Errorf("Slider: %d values: give 1 to %d", n, maxFrames)
	}
	figures := make([]*Figure, len(s.values))
	for i, v := range s.values {
		if !finite(v) {
			return nil, fmt.Errorf("Slider: value %d is %v", i, v)
		}
		figures[i] = s.frame(i)
	}
	scenes, err := scenes(figures, true)
	if err != nil {
		return nil, fmt.Errorf("Slider: %w", err)
	}
	size := vg.Point{X: 12 * cm}
	if w := figures[0].width; w > 0 {
		size.X = vg.Length(w) * cm
	}
	for _, scene := range scenes {
		scene.outside = len(scene.keys) > 0 // a legend that moved from frame to frame would distract
		size.Y = max(size.Y, scene.naturalHeight(size.X))
	}
	for _, scene := range scenes {
		if err := scene.checkRoom(size); err != nil {
			return nil, fmt.Errorf("Slider: %w", err)
		}
	}
	stills := make([]*sheet, len(scenes))
	for i, scene := range scenes {
		stills[i] = &sheet{size: size, draw: scene.draw}
	}
	middle := *stills[len(stills)/2]
	middle.extra = &animation{s.quantity, s.values, stills}
	return &middle, nil
}

// An animation is the frames of a slider, laid out.
type animation struct {
	quantity string
	values   []float64
	frames   []*sheet
}

// html returns a fragment of HTML: the frames, a slider and a button that plays them. Without JavaScript it shows the
// middle frame.
func (a *animation) html() (string, error) {
	middle := len(a.frames) / 2
	var images strings.Builder
	for i, f := range a.frames {
		data, err := f.png(screenDots)
		if err != nil {
			return "", err
		}
		hidden := ""
		if i != middle {
			hidden = " hidden"
		}
		caption := html.EscapeString(a.quantity + " = " + short(a.values[i]))
		fmt.Fprintf(&images, "<img%s alt=\"%s\" title=\"%s\" width=%d style=\"max-width:100%%;height:auto\" src=\"data:image/png;base64,%s\">\n",
			hidden, caption, caption, int(f.size.X.Dots(cssDots)), base64.StdEncoding.EncodeToString(data))
	}
	// The script finds its own figure, so any number of sliders on a page, also copies of one, work side by side.
	return fmt.Sprintf(`<figure class="viz-slider" style="margin:0">
%s<figcaption style="display:flex;gap:.6em;align-items:center;max-width:%dpx;font:14px sans-serif">
<button type="button" aria-label="play">&#9654;</button>
<input type="range" min="0" max="%d" value="%d" style="flex:1" aria-label="%s">
<output style="min-width:7em"></output>
</figcaption>
<script>
for (const figure of document.querySelectorAll(".viz-slider:not([data-ready])")) {
  figure.dataset.ready = "yes";
  const frames = figure.querySelectorAll("img"), range = figure.querySelector("input");
  const show = () => frames.forEach((f, i) => {
    f.hidden = i != range.value;
    if (!f.hidden) figure.querySelector("output").textContent = f.title;
  });
  let timer = null;
  figure.querySelector("button").onclick = event => {
    timer = timer ? clearInterval(timer) : setInterval(() => { range.value = (+range.value + 1) %% frames.length; show(); }, 120);
    event.target.textContent = timer ? "\u23f8" : "\u25b6";
  };
  range.oninput = show;
  show();
}
</script>
</figure>
`, images.String(), int(a.frames[middle].size.X.Dots(cssDots)), len(a.frames)-1, middle, html.EscapeString(a.quantity)), nil
}
