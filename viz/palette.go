package viz

import (
	"image"
	"image/color"
	"slices"
)

// paletteOf returns at most 256 opaque colours that stand for those of the pictures: all of them if they are so few,
// else the means of boxes that are cut in two across their longest side, by the number of pixels (median cut, Heckbert
// 1982). A picture in them takes a third of the bytes.
func paletteOf(pictures ...*image.RGBA) color.Palette {
	counts := map[uint32]int{}
	for _, p := range pictures {
		for i := 0; i < len(p.Pix); i += 4 {
			counts[rgb(p.Pix[i:])]++
		}
	}
	boxes := [][]uint32{make([]uint32, 0, len(counts))}
	for c := range counts {
		boxes[0] = append(boxes[0], c)
	}
	slices.Sort(boxes[0]) // the order of a map is not the same twice
	for len(boxes) < 256 {
		widest, channel, width := -1, 0, 0
		for i, box := range boxes {
			for shift := 0; shift <= 16; shift += 8 {
				low, high := 255, 0
				for _, c := range box {
					v := int(c >> shift & 0xff)
					low, high = min(low, v), max(high, v)
				}
				if high-low > width {
					widest, channel, width = i, shift, high-low
				}
			}
		}
		if widest < 0 {
			break
		}
		box, total := boxes[widest], 0
		slices.SortStableFunc(box, func(a, b uint32) int { return int(a>>channel&0xff) - int(b>>channel&0xff) })
		for _, c := range box {
			total += counts[c]
		}
		half, below := 1, counts[box[0]]
		for half < len(box)-1 && below+counts[box[half]] <= total/2 {
			below += counts[box[half]]
			half++
		}
		boxes[widest] = box[:half]
		boxes = append(boxes, box[half:])
	}
	var out color.Palette
	for _, box := range boxes {
		var sum [3]int
		total := 0
		for _, c := range box {
			for k := range sum {
				sum[k] += counts[c] * int(c>>(16-8*k)&0xff)
			}
			total += counts[c]
		}
		if total > 0 {
			out = append(out, color.RGBA{uint8(sum[0] / total), uint8(sum[1] / total), uint8(sum[2] / total), 0xff})
		}
	}
	return out
}

// indexed returns the picture in the nearest colours of a palette.
func indexed(p *image.RGBA, palette color.Palette) *image.Paletted {
	out := image.NewPaletted(p.Rect, palette)
	nearest := map[uint32]uint8{}
	for i := range out.Pix {
		c := rgb(p.Pix[4*i:])
		index, known := nearest[c]
		if !known {
			index = uint8(palette.Index(color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff}))
			nearest[c] = index
		}
		out.Pix[i] = index
	}
	return out
}

func rgb(pixel []uint8) uint32 { return uint32(pixel[0])<<16 | uint32(pixel[1])<<8 | uint32(pixel[2]) }
