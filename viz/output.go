package viz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"anatomy/internal/lists"
	"anatomy/internal/replace"
)

const (
	cssDots    = 96 // dots an inch of a notebook's page
	screenDots = 2 * cssDots
)

// Show displays a drawing under the notebook's cell: layers, which make one figure; figures, side by side; Panels; or a
// Slider. The picture goes there as PNG and as SVG, with its alternative text, and as HTML if a reader can move
// or turn it. Show panics if the data are faulty; Save returns an error instead. A program outside a notebook has nowhere
// to show a picture: there Show checks the data and says once, on the standard error, that Save writes a file.
func Show(drawings ...Drawing) {
	s, err := sheetOf(drawings)
	var data *protocol.DisplayData
	if err == nil && gonbui.IsNotebook {
		data, err = s.bundle()
	}
	if err != nil {
		panic(fmt.Sprintf("viz: %v", err))
	}
	if !gonbui.IsNotebook {
		nowhere.Do(func() {
			fmt.Fprintln(os.Stderr, `viz: Show needs a notebook, and this program runs in none: viz.Save("figure.svg", …) writes the picture to a file`)
		})
		return
	}
	gonbui.SendData(data)
	gonbui.Sync() // without it the end of the cell may overtake the picture
}

var nowhere sync.Once

// bundle encodes a sheet for Jupyter. The PNG has two pixels for each of the page's, and says so.
func (s *sheet) bundle() (*protocol.DisplayData, error) {
	raster, vector := s.png(screenDots), s.svg()
	data := &protocol.DisplayData{
		Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: raster, protocol.MIMEImageSVG: string(vector), protocol.MIMETextPlain: s.alt()},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{
			"width":  int(math.Round(s.size.X.Dots(cssDots))),
			"height": int(math.Round(s.size.Y.Dots(cssDots))),
		}},
	}
	if len(s.panels) > 1 {
		panels := lists.Each(s.panels, func(p panel) vg.Rectangle { return p.at })
		data.Metadata["panels"], data.Metadata["legend"] = s.shares(panels), s.shares(s.legend.boxes(s.foot()))
	}
	data.Metadata["letters"] = float64(s.letters())
	if faults := s.faults(); len(faults) > 0 {
		data.Metadata["faults"] = faults
	}
	if s.valued() {
		data.Metadata["paper"] = "white"
	}
	if number, err := strconv.Atoi(os.Getenv(coverNumber)); err == nil {
		cover, err := s.cover(number)
		if err := errors.Join(err, os.Unsetenv(coverNumber)); err != nil {
			return nil, err
		}
		data.Data[coverType] = string(cover.svg())
	}
	if s.extra != nil {
		data.Data[protocol.MIMETextHTML] = s.extra.html()
	}
	return data, nil
}

// The report of a notebook has a cover among others: ANATOMY_COVER asks for that of the next picture, and is the number of a panel of it.
const (
	coverNumber = "ANATOMY_COVER"
	coverType   = protocol.MIMEType("application/vnd.anatomy.cover")
	coverWidth  = 6.9 // cm, 260 pixels, in which the gallery shows it
	coverHeight = 6.2 // at most
)

// cover is a panel, of which the number counts from 1, laid out by itself at the size of a cover, at which its letters are as large as in the picture.
func (s *sheet) cover(number int) (*sheet, error) {
	own := *s.panels[max(1, min(number, len(s.panels)))-1].scene
	figure := *own.Figure
	own.Figure, own.outside, own.reserve, own.coarsest = &figure, false, 0, 0
	figure.title, figure.height = panelLetter.ReplaceAllString(figure.title, ""), 0
	if len(own.legend.keys)+len(own.legend.bars) == 0 {
		own.legend = s.legend
	}
	if !own.chart { // beside others the range may be that of all
		own.bounds = emptyBox()
		each(own.marks, own.bounds.add)
	}
	if high := own.naturalHeight(coverWidth * cm); high > coverHeight*cm {
		figure.height = coverHeight
	}
	return (&layout{scenes: []*scene{&own}, columns: 1, width: coverWidth * cm}).sheet()
}

var panelLetter = regexp.MustCompile(`^\([a-z]\) *`)

// letters is the size of the smallest letters of the sheet in points: a report shows it no smaller than they can be read.
func (s *sheet) letters() vg.Length {
	least := vg.Length(keyText)
	for _, p := range s.panels {
		inner := p.scene.inner(p.at)
		x, y := p.scene.labels()
		for label, side := range map[string]vg.Length{x: inner.Size().X, y: inner.Size().Y} {
			if label != "" {
				sty, _ := axisLabel(label, 0, 0, side)
				least = min(least, sty.Font.Size)
			}
		}
		for _, m := range p.scene.marks {
			if m.text != "" {
				least = min(least, textSize)
			}
		}
	}
	return least
}

// shares are left, top, width and height of rectangles in shares of the sheet: a report puts the panels below each other where the
// screen is small, and the entries of their legend beneath.
func (s *sheet) shares(all []vg.Rectangle) []float64 {
	boxes := []float64{}
	for _, r := range all {
		size := r.Size()
		boxes = append(boxes, float64(r.Min.X/s.size.X), float64(1-r.Max.Y/s.size.Y), float64(size.X/s.size.X), float64(size.Y/s.size.Y))
	}
	return boxes
}

// Save writes a drawing, what Show takes, to a file. The end of the name decides the format: see Encode. The file appears only when it is
// complete.
func Save(path string, drawings ...Drawing) error {
	data, err := encode(filepath.Ext(path), drawings)
	if err == nil {
		err = replace.File(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	}
	if err != nil {
		return fmt.Errorf("viz: %s: %w", path, err)
	}
	return nil
}

// Encode returns a drawing, what Show takes, as the bytes of a file with an extension: .png (300 dots an inch), .svg or .pdf; .html for what
// a reader can move (Slider, Play, Drag and figures in space); .gif for the animation of Slider and Play.
func Encode(extension string, drawings ...Drawing) (data []byte, err error) {
	if data, err = encode(extension, drawings); err != nil {
		err = fmt.Errorf("viz: %w", err)
	}
	return data, err
}

func encode(extension string, drawings []Drawing) ([]byte, error) {
	s, err := sheetOf(drawings)
	if err != nil {
		return nil, err
	}
	frames, moves := s.extra.(*animation)
	switch extension = strings.ToLower(extension); {
	case extension == ".png":
		return s.png(printDots), nil
	case extension == ".svg":
		return s.svg(), nil
	case extension == ".pdf":
		return s.pdf(), nil
	case extension == ".html" && s.extra != nil:
		return []byte(page("file", nil) + s.extra.html()), nil
	case extension == ".gif" && moves:
		return frames.gif(), nil
	}
	return nil, fmt.Errorf("cannot write a picture as %q: name it .png, .svg or .pdf (Slider and Play also .html or .gif; Drag and a figure in space also .html)", extension)
}

// sheetOf makes one sheet of what Show and Save were given.
func sheetOf(drawings []Drawing) (*sheet, error) {
	var layers []*Layer
	var figures []*Figure
	for i, d := range drawings {
		switch d := d.(type) {
		case nil:
			return nil, fmt.Errorf("drawing %d is nil", i)
		case *Layer:
			layers = append(layers, d)
		case *Figure:
			figures = append(figures, d)
		}
	}
	switch n := len(drawings); {
	case n == len(layers):
		return Fig(layers...).sheet()
	case n == 1:
		return drawings[0].sheet()
	case n == len(figures):
		return Row(figures...).sheet()
	}
	return nil, fmt.Errorf("%d drawings of different kinds: give layers only, figures only, or one of Row, Tiles or Slider", len(drawings))
}

func (s *sheet) png(dpi int) []byte { return encodePNG(s.raster(dpi), dpi) }

func (s *sheet) raster(dpi int) *image.RGBA {
	c := vgimg.NewWith(vgimg.UseWH(s.size.X, s.size.Y), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(color.White))
	s.draw(draw.New(c))
	return c.Image().(*image.RGBA)
}

func encodePNG(picture image.Image, dpi int) []byte {
	var buf bytes.Buffer
	sure(0, png.Encode(&buf, picture))
	return withResolution(buf.Bytes(), dpi)
}

// withResolution states a PNG's resolution in a pHYs chunk after its header, so that readers know its size on paper.
func withResolution(file []byte, dpi int) []byte {
	const header = 8 + 25 // signature, IHDR
	chunk := make([]byte, 21)
	binary.BigEndian.PutUint32(chunk, 9)
	copy(chunk[4:], "pHYs")
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	binary.BigEndian.PutUint32(chunk[8:], perMetre)
	binary.BigEndian.PutUint32(chunk[12:], perMetre)
	chunk[16] = 1 // the unit is the metre
	binary.BigEndian.PutUint32(chunk[17:], crc32.ChecksumIEEE(chunk[4:17]))
	return append(append(append([]byte(nil), file[:header]...), chunk...), file[header:]...)
}

func (s *sheet) svg() []byte {
	c := vgsvg.New(s.size.X, s.size.Y)
	white(draw.New(c))
	s.draw(draw.New(c))
	var buf bytes.Buffer
	sure(c.WriteTo(&buf))
	// vgsvg embeds PNG data under the type of another format, which strict readers refuse.
	file := strings.ReplaceAll(buf.String(), "data:image/jpg;base64,", "data:image/png;base64,")
	file = strings.ReplaceAll(file, "<image ", "<image preserveAspectRatio=\"none\" ") // a bar is one row of pixels
	open, drawing, _ := strings.Cut(file, "<g ")
	open = strings.Replace(open, "<svg ", "<svg class=\"viz-figure\" role=\"img\" ", 1)
	if title := s.title(); title != "" {
		open += "<title>" + escaped(title) + "</title>\n"
	}
	drawing = strings.Replace(drawing, "</svg>", s.hovers()+"</svg>", 1)
	return []byte(open + "<desc>" + escaped(s.alt()) + "</desc>\n<g " + drawing)
}

// elements returns what the sheet draws as elements of SVG.
func (s *sheet) elements() string {
	file := s.svg()
	return string(file[bytes.Index(file, []byte("<g ")):bytes.LastIndex(file, []byte("</svg>"))])
}

// valued reports whether colours of the sheet stand for values, which a bar explains.
func (s *sheet) valued() bool {
	return len(s.legend.bars) > 0 || slices.ContainsFunc(s.panels, func(p panel) bool { return len(p.scene.legend.bars) > 0 })
}

// class is that of the sheet inside a page.
func (s *sheet) class() string {
	if s.valued() {
		return "viz-paper"
	}
	return "viz-ink"
}

// Files have no date, so that equal drawings are equal files.
func init() {
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultCatalogSort(true)
}

func (s *sheet) pdf() []byte {
	c := pdfCanvas{vgpdf.New(s.size.X, s.size.Y), map[int]bool{}}
	s.draw(draw.New(c))
	var buf bytes.Buffer
	sure(c.WriteTo(&buf))
	return buf.Bytes()
}

// pdfCanvas mends two defects of vgpdf, seen with gonum/plot v0.17.0: it takes the premultiplied channels of a
// translucent colour for straight ones, which darkens it, and draws images upside down.
//
// fpdf writes images by their width, and those of one width in any order: equal files need images of different widths, so some get clear columns.
type pdfCanvas struct {
	*vgpdf.Canvas
	widths map[int]bool // of its images
}

func (c pdfCanvas) SetColor(ink color.Color) {
	c.Canvas.SetColor(straight(color.NRGBAModel.Convert(ink).(color.NRGBA)))
}

func (c pdfCanvas) DrawImage(r vg.Rectangle, img image.Image) {
	size := img.Bounds().Size()
	width := size.X
	for c.widths[width] {
		width++
	}
	c.widths[width] = true
	r.Max.X += r.Size().X * vg.Length(width-size.X) / vg.Length(size.X)
	flipped := image.NewNRGBA(image.Rect(0, 0, width, size.Y))
	for y := range size.Y {
		for x := range size.X {
			flipped.Set(x, size.Y-1-y, img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y))
		}
	}
	c.Canvas.DrawImage(r, flipped)
}

// straight is a colour whose RGBA does not multiply by the opacity.
type straight color.NRGBA

func (s straight) RGBA() (r, g, b, a uint32) {
	return 0x101 * uint32(s.R), 0x101 * uint32(s.G), 0x101 * uint32(s.B), 0x101 * uint32(s.A)
}

// sure is the result of encoding into memory, which fails for a mistake of this package alone.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("viz: encoding: %v", err))
	}
	return v
}

func white(c draw.Canvas) {
	c.SetColor(paper)
	c.Fill(vg.Rectangle{Min: c.Min, Max: c.Max}.Path())
}
