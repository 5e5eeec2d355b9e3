package viz

import (
	"image"
	"image/color"
	"maps"
	"slices"
)

// paletteOf returns at most 256 opaque colours that stand for those of the pictures: all of them if they are so few,
// else the means of boxes that are cut in two across their longest side (median cut, Heckbert 1982). A picture in them takes a third of the
// bytes.
func paletteOf(pictures ...*image.RGBA) color.Palette {
	seen := map[[3]uint8]bool{}
	for _, p := range pictures {
		for i := 0; i < len(p.Pix); i += 4 {
			seen[[3]uint8(p.Pix[i:i+3])] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(seen), func(a, b [3]uint8) int { return slices.Compare(a[:], b[:]) }) // the order of a map is not the same twice
	return append(color.Palette{color.RGBA{0xff, 0xff, 0xff, 0xff}}, medianCut(all, 255)...)                 // the paper stays white
}

func medianCut(box [][3]uint8, count int) (out color.Palette) {
	var low, high [3]uint8
	var sum [3]int
	channel := 0
	for k := range 3 {
		low[k] = 0xff
		for _, c := range box {
			low[k], high[k], sum[k] = min(low[k], c[k]), max(high[k], c[k]), sum[k]+int(c[k])
		}
		if high[k]-low[k] > high[channel]-low[channel] {
			channel = k
		}
	}
	if n := len(box); count == 1 || n == 1 {
		return color.Palette{color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 0xff}}
	}
	slices.SortStableFunc(box, func(a, b [3]uint8) int { return int(a[channel]) - int(b[channel]) })
	half := len(box) / 2
	return append(medianCut(box[:half], count/2), medianCut(box[half:], count-count/2)...)
}

// indexed returns the picture in the nearest colours of a palette.
func indexed(p *image.RGBA, palette color.Palette) *image.Paletted {
	out, nearest := image.NewPaletted(p.Rect, palette), map[[3]uint8]uint8{}
	for i := range out.Pix {
		c := [3]uint8(p.Pix[4*i : 4*i+3])
		index, known := nearest[c]
		if !known {
			index = uint8(palette.Index(color.RGBA{c[0], c[1], c[2], 0xff}))
			nearest[c] = index
		}
		out.Pix[i] = index
	}
	return out
}
