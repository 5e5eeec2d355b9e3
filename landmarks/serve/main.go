// Command serve computes on one landmark manifold for programs in other languages, as the Python module's Space does. It reads lines of JSON and
// answers each by a line. The first line describes the manifold, each other one is a call:
//
//	{"landmarks": 39, "dim": 2, "kernel": "gaussian", "width": 5}          → {}
//	{"call": "log", "arguments": [[[0, 0], …], [[0.1, 0], …]]}             → {"Start": …, "Length": …, "Status": "converged", "Text": "geodesic of …"}
//
// An answer holds the fields of the result in Go, with its status in words and the line that it prints as Text; numbers that are not finite
// are NaN, Infinity and -Infinity, as Python writes and reads them. An error is {"error": "…"}, and the next line is read. With the flag --version
// it says instead its version, and whose machine code computes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anatomy"
	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
)

type (
	space    = *landmarks.Space
	points   = [][]float64
	shapes   = []geom.Shape
	geodesic = *landmarks.Geodesic
)

// calls are what can be asked. Each takes the space and its arguments, which JSON fills.
var calls = map[string]any{
	"exp":   func(m space, q, v points) (geodesic, error) { return m.Exp(q, v) },
	"shoot": func(m space, q, p points) (geodesic, error) { return m.Shoot(q, p) },
	"log":   func(m space, q, target points) (geodesic, error) { return m.Log(q, target) },
	"match": func(m space, q, target points, sigma float64) (*landmarks.Matching, error) {
		return m.Match(q, landmarks.Correspondence(target), sigma)
	},
	"transform": func(m space, g geodesic, z points) (shapes, error) { return m.Transform(g, z) },
	"transport": func(m space, g geodesic, v points) ([]shapes, error) { return m.Transport(g, v) },
	"mean": func(m space, samples shapes, mismatch float64) (*stats.Mean[geom.Shape], error) {
		return stats.FrechetMean(m, samples, inexact(mismatch)...)
	},
	"regress": func(m space, samples shapes, times []float64, mismatch float64) (*stats.Regression[geom.Shape], error) {
		return stats.Regress(m, samples, linear.Terms{linear.Covariate("t", times...)}, inexact(mismatch)...)
	},
}

// inexact is the option RelativeNoise, or none for 0.
func inexact(mismatch float64) []stats.MeanOption {
	if mismatch == 0 {
		return nil
	}
	return []stats.MeanOption{stats.RelativeNoise(mismatch)}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("anatomy-space: ")
	if slices.Equal(os.Args[1:], []string{"--version"}) {
		fmt.Println("anatomy-space version", anatomy.Version)
		code, err := engine.MachineCode()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("XLA:", code)
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers lines until there are no more.
func serve(in io.Reader, out io.Writer) error {
	lines, written := bufio.NewReader(in), bufio.NewWriter(out)
	var m space
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var answer any = struct{}{}
		if m == nil {
			m, err = open(line)
		} else {
			answer, err = call(m, line)
		}
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		written.Write(append(encode(nil, reflect.ValueOf(answer)), '\n'))
		if err := written.Flush(); err != nil {
			return err
		}
	}
}

// open makes the space that a line describes.
func open(line []byte) (space, error) {
	var about struct {
		Landmarks, Dim, Order int
		Kernel                string
		Width                 []float64
	}
	if err := json.Unmarshal(line, &about); err != nil {
		return nil, err
	}
	if about.Landmarks < 1 || about.Dim < 1 {
		return nil, fmt.Errorf("a space of %d landmarks in %d dimensions: want at least one of each", about.Landmarks, about.Dim)
	}
	for _, w := range about.Width {
		if !(w > 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("the width %g of the kernel: want a positive number in the unit of the landmarks", w)
		}
	}
	if n := len(about.Width); n != 1 && n != about.Dim {
		return nil, fmt.Errorf("%d widths of the kernel: want one, or one for each of the %d axes", n, about.Dim)
	}
	var k kernels.Kernel
	switch about.Kernel {
	case "gaussian":
		k = kernels.Gaussian(about.Width...)
	case "cauchy":
		k = kernels.Cauchy(about.Width...)
	case "laplace":
		if about.Order < 0 || about.Order > 4 {
			return nil, fmt.Errorf("the order %d of the Laplace kernel: want 0 to 4", about.Order)
		}
		k = kernels.Laplace(about.Order, about.Width...)
	default:
		return nil, fmt.Errorf("kernel %q: want gaussian, laplace or cauchy", about.Kernel)
	}
	return landmarks.New(about.Landmarks, about.Dim, k), nil
}

// call answers a line.
func call(m space, line []byte) (any, error) {
	var asked struct {
		Call      string
		Arguments []json.RawMessage
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	fn := reflect.ValueOf(calls[asked.Call])
	if !fn.IsValid() {
		return nil, fmt.Errorf("there is no call %q", asked.Call)
	}
	in := []reflect.Value{reflect.ValueOf(m)}
	if want := fn.Type().NumIn() - 1; len(asked.Arguments) != want {
		return nil, fmt.Errorf("%s: %d arguments, want %d", asked.Call, len(asked.Arguments), want)
	}
	for i, text := range asked.Arguments {
		x := reflect.New(fn.Type().In(i + 1))
		if err := json.Unmarshal(text, x.Interface()); err != nil {
			return nil, fmt.Errorf("%s: argument %d: %w", asked.Call, i+1, err)
		}
		in = append(in, x.Elem())
	}
	out := fn.Call(in)
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// encode appends a value as JSON, with the numbers that JSON lacks as Python reads them. Fields of embedded structures stand beside the others, and
// what prints itself has its line as Text.
func encode(to []byte, v reflect.Value) []byte {
	if status, ok := v.Interface().(geom.Status); ok {
		return strconv.AppendQuote(to, status.String())
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return encode(to, v.Elem())
	case reflect.Float64:
		return append(to, numbers.Replace(strconv.FormatFloat(v.Float(), 'g', -1, 64))...)
	case reflect.Slice:
		to = append(to, '[')
		for i := range v.Len() {
			if i > 0 {
				to = append(to, ',')
			}
			to = encode(to, v.Index(i))
		}
		return append(to, ']')
	case reflect.Struct:
		to = append(to, '{')
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous && f.IsExported() {
				to = append(strconv.AppendQuote(to, f.Name), ':')
				to = append(encode(to, v.FieldByIndex(f.Index)), ',')
			}
		}
		if v.CanAddr() {
			if s, ok := v.Addr().Interface().(fmt.Stringer); ok {
				to = append(strconv.AppendQuote(append(to, `"Text":`...), s.String()), ',')
			}
		}
		return append(bytes.TrimSuffix(to, []byte(",")), '}')
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err)
	}
	return append(to, text...)
}

// numbers that JSON has no words for, as Python reads them.
var numbers = strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity")
