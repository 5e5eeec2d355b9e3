package viz

import (
	"html"
	"math"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	pfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"anatomy/internal/input"
	"anatomy/internal/lists"
)

// outlines is the text handler of every figure. It fills the outlines of the letters, so a picture looks the same on
// a machine that has no Liberation fonts, and it sets sub- and superscripts (q₀, 10⁻⁵, xᵢ) from full-size letters:
// the font holds only some of them, and those too small to read.
type outlines struct{ text.Plain }

var (
	fonts   = pfont.NewCache(liberation.Collection())
	letters = outlines{text.Plain{Fonts: fonts}}
)

func sans(points float64, weight font.Weight) pfont.Font {
	return pfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Points(points)}
}

func style(points float64) text.Style {
	return text.Style{Color: Black, Font: sans(points, font.WeightNormal), Handler: letters}
}

const (
	lowered = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ"
	lowBase = "0123456789+−=()aehijklmnoprstuvxβγρφχ"
	raised  = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ"
	upBase  = "0123456789+−=()abcdefghijklmnoprstuvwxyzT"
)

// script says how a letter of a label is set: the letter of the font, its scale, its rise in ems.
type script struct {
	letter      rune
	scale, rise float64
	upsideDown  bool
}

var scripts = func() map[rune]script {
	m := map[rune]script{'∇': {letter: '∆', scale: 1, upsideDown: true}}
	add := func(from, to string, rise float64) {
		base := []rune(to)
		for i, r := range []rune(from) {
			m[r] = script{letter: base[i], scale: 0.7, rise: rise}
		}
	}
	add(lowered, lowBase, -0.16)
	add(raised, upBase, 0.34)
	return m
}()

func scriptOf(r rune) script {
	if s, ok := scripts[r]; ok {
		return s
	}
	return script{letter: r, scale: 1}
}

// glyph returns how a letter is set, with its outline in a font. A letter that the font lacks, as of a name in Japanese, is set as
// a box; what only changes the letters beside it has no outline, 0.
func glyph(face *sfnt.Font, r rune) (s script, g sfnt.GlyphIndex, lacks bool) {
	var buf sfnt.Buffer
	index := func(r rune) sfnt.GlyphIndex { return sure(face.GlyphIndex(&buf, r)) }
	s = scriptOf(r)
	if g = index(s.letter); g != 0 {
		return s, g, false
	}
	if unicode.In(r, unicode.M, unicode.Cf) {
		return s, 0, false
	}
	return scriptOf('□'), index('□'), true
}

// lacking returns the letters of a text for which boxes are drawn, each once.
func lacking(text string) []string {
	face := fonts.Lookup(sans(8, font.WeightNormal), vg.Points(8)).Face
	return lists.Distinct(lists.Filter(strings.Split(text, ""), func(letter string) bool {
		_, _, lacks := glyph(face, []rune(letter)[0])
		return lacks
	}))
}

// walk visits the letters of one line with their script, glyph and position, in ems, and returns the line's width.
func walk(line string, fnt pfont.Font, visit func(s script, g sfnt.GlyphIndex, x float64)) float64 {
	var buf sfnt.Buffer
	face := fonts.Lookup(fnt, fnt.Size).Face
	em := fixed.I(1000)
	x := 0.0
	var last sfnt.GlyphIndex
	lastX, lastScale := 0.0, 0.0
	for _, r := range line {
		s, g, _ := glyph(face, r)
		if g == 0 {
			continue
		}
		if unicode.Is(unicode.Mn, r) { // a dot, hat or bar stands over the middle of the letter before it
			if bounds, _, err := face.GlyphBounds(&buf, g, em, font.HintingNone); visit != nil && err == nil {
				visit(s, g, (lastX+x)/2-float64(bounds.Min.X+bounds.Max.X)/2/float64(em))
			}
			continue
		}
		if s.scale == lastScale {
			if k, err := face.Kern(&buf, last, g, em, font.HintingNone); err == nil {
				x += s.scale * float64(k) / float64(em)
			}
		}
		if visit != nil {
			visit(s, g, x)
		}
		lastX = x
		x += s.scale * float64(sure(face.GlyphAdvance(&buf, g, em, font.HintingNone))) / float64(em)
		last, lastScale = g, s.scale
	}
	return x
}

// Extents returns the height and depth that a line takes: such that its vertical middle is that of capitals and digits.
func (outlines) Extents(fnt pfont.Font) pfont.Extents {
	return pfont.Extents{Ascent: 0.9 * fnt.Size, Descent: 0.18 * fnt.Size, Height: 1.2 * fnt.Size}
}

// Box returns the width of one line and the height and depth of its font.
func (h outlines) Box(line string, fnt pfont.Font) (width, height, depth vg.Length) {
	e := h.Extents(fnt)
	return vg.Length(walk(line, fnt, nil)) * fnt.Size, e.Ascent, e.Descent
}

// Draw fills the outlines of the letters of txt, aligned and rotated about pt as sty says. The letters have such coordinates that many would lie half-way between two
// decimals of a file, and the last bit of pt, in which processors differ, would decide. Therefore pt is moved to a grid that avoids this.
func (h outlines) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	onGrid := func(x vg.Length) vg.Length { return vg.Length(math.Round(float64(x)*1024))/1024 + 1e-7 }
	pt = vg.Point{X: onGrid(pt.X), Y: onGrid(pt.Y)}
	var (
		buf  sfnt.Buffer
		path vg.Path
		face = fonts.Lookup(sty.Font, sty.Font.Size).Face
		em   = fixed.I(1000)
		size = sty.Font.Size
		left = vg.Length(sty.XAlign) * sty.Width(txt)
		base = sty.Height(txt)*vg.Length(1+sty.YAlign) - h.Extents(sty.Font).Ascent
		s, k = math.Sincos(sty.Rotation)
	)
	walk(txt, sty.Font, func(sc script, g sfnt.GlyphIndex, x float64) {
		segments := sure(face.LoadGlyph(&buf, g, em, nil))
		at := func(p fixed.Point26_6) vg.Point {
			gx, gy := float64(p.X)/float64(em), -float64(p.Y)/float64(em)
			if sc.upsideDown {
				gy = 0.72 - gy
			}
			u := left + size*vg.Length(x+sc.scale*gx)
			v := base + size*vg.Length(sc.rise+sc.scale*gy)
			return vg.Point{X: pt.X + u*vg.Length(k) - v*vg.Length(s), Y: pt.Y + u*vg.Length(s) + v*vg.Length(k)}
		}
		for j, seg := range segments {
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				if j > 0 {
					path.Close()
				}
				path.Move(at(seg.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(at(seg.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(at(seg.Args[0]), at(seg.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(at(seg.Args[0]), at(seg.Args[1]), at(seg.Args[2]))
			}
		}
		if len(segments) > 0 {
			path.Close()
		}
	})
	if len(path) > 0 {
		c.SetColor(sty.Color)
		c.Fill(path)
	}
}

// escaped is a text as XML and HTML can hold it.
func escaped(text string) string { return html.EscapeString(input.Printable(text)) }

// clipped is the beginning of a text that is longer than anybody reads in a picture.
func clipped(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// broken breaks a text into lines no wider than a width: at spaces, and inside of words that are wider.
func broken(line string, sty text.Style, width vg.Length) (lines []string) {
	last := ""
	for i, word := range strings.Split(clipped(line, 1000), " ") {
		if longer := last + " " + word; i > 0 && sty.Width(longer) <= width {
			last = longer
			continue
		}
		if i > 0 {
			lines = append(lines, last)
		}
		for sty.Width(word) > width {
			letters := []rune(word)
			count := max(1, sort.Search(len(letters), func(n int) bool { return sty.Width(string(letters[:n+1])) > width }))
			if count == len(letters) {
				break
			}
			lines = append(lines, string(letters[:count]))
			word = string(letters[count:])
		}
		last = word
	}
	return append(lines, last)
}

// Lines says that a label has one line.
func (outlines) Lines(txt string) []string { return []string{txt} }
