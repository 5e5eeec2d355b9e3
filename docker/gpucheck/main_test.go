package main

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestCompare(t *testing.T) {
	of := func(precision string, values ...float64) *run {
		return &run{Results: []result{{Name: "work", Precision: precision, Tolerance: 1e-3, Parts: [][]float64{values}, Seconds: 1}}}
	}
	reference := of("float64", 1, -2)
	for want, tested := range map[string]*run{
		" agrees":      of("float32", 1.001, -2.001),
		" DIFFERS":     of("float64", 1, -2.1),
		"Inf":          of("float64", 1),
		"NOT in the":   {Results: []result{{Name: "other", Precision: "float64"}}},
		"FAILED: alas": {Results: []result{{Name: "work", Precision: "float64", Error: "alas"}}},
	} {
		var out bytes.Buffer
		agree := compare(&out, reference, tested)
		if !strings.Contains(out.String(), want) || agree != (want == " agrees") {
			t.Errorf("want %q:\n%s", want, &out)
		}
	}
}

// TestMain is also the process of a back end.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-compute") {
		main()
		return
	}
	geomtest.Main(m, geomtest.Quick)
}

// Written as for a GPU, 25 programs and searches agree with those that call C functions, and float32 is within its tolerance of float64.
func TestPortable(t *testing.T) {
	var sent *run
	var failed error
	var group sync.WaitGroup
	group.Go(func() {
		sent, failed = start("portable", "-landmarks", "2000", "-seconds", "0", "-record", t.TempDir())
	})
	computed := compute([]int{2000}, 0, "")
	if group.Wait(); failed != nil {
		t.Fatal(failed, sent)
	}
	var out bytes.Buffer
	agree := compare(&out, computed, sent)
	t.Log("\n" + out.String())
	if n := len(sent.Results); n != 25 || !agree {
		t.Errorf("%d results, which agree: %v", n, agree)
	}
	// Forces of many landmarks are ten thousand times smaller than their velocities, and yet seen.
	for i := range sent.Results {
		if parts := sent.Results[i].Parts; strings.HasPrefix(sent.Results[i].Name, "Hamilton") {
			parts[1] = make([]float64, len(parts[1]))
		}
	}
	out.Reset()
	if compare(&out, computed, sent) || strings.Count(out.String(), " DIFFERS") != 8 {
		t.Error("without forces:\n" + out.String())
	}
}

// What is no number is an error of the computation, which a process can send.
func TestNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		expect.Refused(t, finite([][]float64{{1}, {2, bad}}), "value 1 is")
	}
	if err := finite([][]float64{{1}, {2}}); err != nil {
		t.Error(err)
	}
}
