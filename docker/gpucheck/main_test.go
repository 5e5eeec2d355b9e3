package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

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

// What a process sends agrees with itself, and float32 is within its tolerance of float64.
func TestCompute(t *testing.T) {
	computed := compute([]int{150}, 0)
	text, err := json.Marshal(computed)
	if err != nil {
		t.Fatal(err)
	}
	var sent run
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if !compare(&out, computed, &sent) {
		t.Error("\n" + out.String())
	}
	if n := len(sent.Results); n != 21 {
		t.Errorf("%d results", n)
	}
	// Forces of many landmarks are ten thousand times smaller than their velocities, and yet seen.
	for i := range sent.Results {
		if parts := sent.Results[i].Parts; strings.HasPrefix(sent.Results[i].Name, "Hamilton") {
			parts[1] = make([]float64, len(parts[1]))
		}
	}
	out.Reset()
	if compare(&out, computed, &sent) || strings.Count(out.String(), " DIFFERS") != 8 {
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
