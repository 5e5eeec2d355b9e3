package text

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"anatomy/geom/geomtest/expect"
)

// A file is the same lines whatever ends them and however the text is encoded.
func TestLines(t *testing.T) {
	want := []string{"a 1", "", "é\t2"}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, last := range []string{"", end} {
			plain := strings.Join(want, end) + last
			for name, file := range map[string]string{"plain": plain, "mark": "\ufeff" + plain, "UTF-16LE": utf16Text(plain, false), "UTF-16BE": utf16Text(plain, true)} {
				in := NewReader(iotestOneByte{strings.NewReader(file)}, "f")
				var got []string
				for {
					line, err := in.Line()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, line)
				}
				if !slices.Equal(got, want) || in.Number != 3 {
					t.Errorf("%s, %q: %q, line %d", name, file, got, in.Number)
				}
			}
		}
	}
}

// Empty lines without end are refused before they take long.
func TestEmptyLines(t *testing.T) {
	in := NewReader(strings.NewReader(strings.Repeat("\n", 1<<21)), "f")
	var err error
	for err == nil {
		_, err = in.Line()
	}
	expect.Refused(t, err, "empty lines in a row")
}

// iotestOneByte hands out a byte at a time, so that CRLF falls between two reads.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func utf16Text(s string, big bool) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		pair := []byte{byte(u), byte(u >> 8)}
		if big {
			slices.Reverse(pair)
		}
		b.Write(pair)
	}
	return b.String()
}

func TestWords(t *testing.T) {
	in := NewReader(strings.NewReader(" a\tbc\r\nd\re\n\n"), "f")
	var got []string
	var lines []int
	for {
		word, err := in.Word()
		if err != nil {
			break
		}
		got, lines = append(got, word), append(lines, in.Number)
	}
	if !slices.Equal(got, []string{"a", "bc", "d", "e"}) || !slices.Equal(lines, []int{1, 1, 2, 3}) {
		t.Errorf("%q in lines %v", got, lines)
	}
}

// A line without end is refused in memory of the order of the limit, and so is UTF-16 that does not say what it is.
func TestEndlessLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := NewReader(endless{}, "f").Line()
	runtime.ReadMemStats(&after)
	expect.Refused(t, err, "longer than 16 MiB")
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 600 {
		t.Errorf("%d MiB allocated", mib)
	}
	expect.Refused(t, expect.Error(NewReader(strings.NewReader(utf16Text("x,y\n", false)[2:]), "f").Line()), "UTF-16")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	return len(p), nil
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{"1_000", "0x1p4", "0X1p4", "1e", "", "1,5", "zwei"} {
		if v, err := Number(text); err == nil {
			t.Errorf("%q is %g", text, v)
		}
	}
	if v, err := Number("-1.5e3"); v != -1500 || err != nil {
		t.Errorf("%g, %v", v, err)
	}
	for _, text := range []string{"-1", "1.5", "134217729", "99999999999999999999", "x"} {
		if n, err := Count("things", text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
