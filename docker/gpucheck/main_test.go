package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	of := func(precision string, values ...float64) *run {
		return &run{Results: []result{{Name: "work", Precision: precision, Tolerance: 1e-3, Values: values, Seconds: 1}}}
	}
	reference := of("float64", 1, -2)
	for want, tested := range map[string]*run{
		" agrees":      of("float32", 1.001, -2.001),
		" DIFFERS":     of("float64", 1, -2.1),
		"Inf":          of("float64", 1),
		"NaN":          of("float64", 1, math.NaN()),
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
	computed := compute([]int{150})
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
	if n := len(sent.Results); n != 9 {
		t.Errorf("%d results", n)
	}
}
