package morpho

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/internal/bomb"
)

// Files that would take many times their size are refused, in less than a gigabyte.
func TestBombs(t *testing.T) {
	megabyte := func(text string) string { return strings.Repeat(text, 1<<20/len(text)) }
	for name, c := range map[string]struct {
		read func(io.Reader, string) (*Dataset, error)
		head string
		body string
		want string
	}{
		"a CSV header of 300 MB":           {ReadCSV, "", megabyte("x,"), "bomb:1: the line is longer than 16 MiB"},
		"a CSV row of 300 MB":              {ReadCSV, "x,y\n", megabyte("1,"), "bomb:2: the line is longer than 16 MiB"},
		"CSV rows of millions of columns":  {ReadCSV, "x,y\n", strings.Repeat(",", 5<<20) + "\n", "bomb:2: the row has 5242881 columns"},
		"a CSV name that is never closed":  {ReadCSV, "name,x,y\n\"", megabyte("1,2\n"), "is a quotation mark not closed?"},
		"a TPS landmark of 300 MB":         {readTPS, "LM=1\n", megabyte("1 "), "bomb:2: the line is longer"},
		"an NTS row of 300 MB":             {reads("NTS"), "1 1 4 0 DIM=2\n", megabyte("1 "), "bomb:2: the line is longer"},
		"a Morphologika section of 300 MB": {reads("Morphologika"), "", megabyte("["), "bomb:1: the line is longer"},
		"an FCSV point of 300 MB":          {readFCSV, "", megabyte("1 "), "bomb:1: the line is longer"},
		"FCSV columns by the million":      {readFCSV, "", strings.Repeat(",", 5<<20) + "\n", "bomb:1: the row has 5242881 columns, and 100000 is the most"},
		"markups of 300 MB in one line":    {readMarkups, "{", megabyte(" "), "bytes, and 268435456 are the most"},
		"markups of 300 MB":                {readMarkups, "{\n", megabyte(" ") + "\n", "bytes, and 268435456 are the most"},
		"an NPY header of 4 GB":            {reads("NPY"), "\x93NUMPY\x02\x00\xff\xff\xff\xff", megabyte(" "), "header of 4294967295 bytes"},
	} {
		bomb.Refused(t, name, c.read, io.MultiReader(strings.NewReader(c.head), bomb.Repeat(c.body, 300)), c.want)
	}
	packed := expect.Must(os.ReadFile("testdata/array_xz.rds"))
	packed[16] = 40 // a dictionary of 4 GB
	binary.LittleEndian.PutUint32(packed[20:], crc32.ChecksumIEEE(packed[12:20]))
	bomb.Refused(t, "a file of R packed by xz with a dictionary of 4 GB", reads("R"), bytes.NewReader(packed), "dictionary size exceeds max; pack it again")
}
