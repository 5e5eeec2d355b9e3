package main

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"anatomy/kernels"
	"anatomy/landmarks"
)

// Answers hold the numbers of a direct call, to the last bit; an error leaves the program answering.
func TestAnswersAreThoseOfGo(t *testing.T) {
	q, v := [][]float64{{0, 0}, {1, 0}, {0, 2}}, [][]float64{{0.1, 0}, {0, 0.2}, {0.3, 0}}
	m := landmarks.New(3, 2, kernels.Gaussian(1.5))
	want, err := m.Exp(q, v)
	if err != nil {
		t.Fatal(err)
	}
	log, err := m.Log(q, want.End)
	if err != nil {
		t.Fatal(err)
	}
	along, err := m.Transport(want, v)
	if err != nil {
		t.Fatal(err)
	}
	text := func(x any) string {
		b, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	curve := `{"Start":` + text(want.Start) + `,"Momentum":` + text(want.Momentum) + `,"Steps":25}`
	in := strings.Join([]string{
		`{"landmarks":3,"dim":2,"kernel":"square","width":[1.5]}`,
		`{"landmarks":3,"dim":2,"kernel":"gaussian","width":[1.5]}`,
		`{"call":"exp","arguments":[` + text(q) + `,` + text(v) + `]}`,
		`{"call":"cut","arguments":[]}`,
		`{"call":"exp","arguments":[` + text(q) + `]}`,
		`{"call":"log","arguments":[` + text(q) + `,` + text(want.End) + `]}`,
		`{"call":"transport","arguments":[` + curve + `,` + text(v) + `]}`,
	}, "\n") + "\n"
	var out bytes.Buffer
	if err := serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d answers, want 7:\n%s", len(lines), out.String())
	}
	for i, error := range map[int]string{0: `kernel \"square\"`, 3: "no call", 4: "1 arguments, want 2"} {
		if !strings.Contains(lines[i], error) {
			t.Errorf("answer %d is %s, want the error %s", i, lines[i], error)
		}
	}
	for i, g := range map[int]*landmarks.Geodesic{2: want, 5: log} {
		var got landmarks.Geodesic
		answer := strings.NewReplacer(`"converged"`, "0", `"Conjugate":Infinity`, `"Conjugate":1`).Replace(lines[i])
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err, lines[i])
		}
		if got.Status = g.Status; got.Conjugate == 1 {
			got.Conjugate = math.Inf(1)
		}
		if !reflect.DeepEqual(&got, g) {
			t.Errorf("answer %d is %+v, want %+v", i, got, *g)
		}
		if !strings.Contains(lines[i], `"Status":"converged"`) {
			t.Errorf("answer %d has no status in words", i)
		}
	}
	if lines[6] != text(along) {
		t.Errorf("transport: %s, want %s", lines[6], text(along))
	}
}
