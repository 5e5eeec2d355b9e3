package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
)

// The outlines of seven mice are out of order: six run back upon themselves on a straight line, and that of mouse 16 folds a little.
// Nothing is wrong with the order of any other outline.
func TestMiceOutOfOrder(t *testing.T) {
	in, err := Inspect(MouseVertebrae())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mouse01", "mouse13", "mouse08", "mouse04", "mouse10", "mouse17", "mouse16"}, in.Names(OutOfOrder)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string(nil), in.Names(FarFromMean)); diff != "" {
		t.Error(diff)
	}
	if got, want := in.String(), "76 specimens, 7 out of order"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, f := range in.Findings {
		if f.Fault != OutOfOrder {
			continue
		}
		q := MouseVertebrae().Specimens[f.Index].Points
		sharpest := math.Inf(1)
		for l := range q {
			a, b, c := q[(l+59)%60], q[l], q[(l+1)%60]
			cosine := ((b[0]-a[0])*(c[0]-b[0]) + (b[1]-a[1])*(c[1]-b[1])) / math.Hypot(b[0]-a[0], b[1]-a[1]) / math.Hypot(c[0]-b[0], c[1]-b[1])
			sharpest = math.Min(sharpest, cosine)
		}
		want := -1.0
		if f.Specimen == "mouse16" {
			want = -0.81
			if diff := cmp.Diff([]int{39, 40}, f.Landmarks); diff != "" {
				t.Error(diff)
			}
		}
		expect.Abs(t, f.Specimen+" turns by", sharpest, want, 0.01)
	}
	if got := len(MouseVertebrae().Group("control").Without(in.Names(OutOfOrder)...).Specimens); got != 23 {
		t.Errorf("%d controls are left", got)
	}
	if first := in.Distances[0]; first.Specimen != "mouse65" || first.Index != 64 || len(in.Distances) != 76 ||
		!slices.IsSortedFunc(in.Distances, func(a, b SpecimenDistance) int { return -int(math.Copysign(1, a.Distance-b.Distance)) }) {
		t.Errorf("distances %v …", in.Distances[:3])
	}
}

// Nothing is found in the skulls, brains, heads and bodies as published.
func TestInspectCleanData(t *testing.T) {
	for _, d := range []*Dataset{GorillaSkulls(), Brain2D(), Brain3D(), CorpusCallosum(), Plethodon(), PlethodonSpecies(), Pupfish(), Rats(), GreatApes()} {
		in, err := Inspect(d)
		if err != nil {
			t.Fatal(err)
		}
		if len(in.Findings) > 0 {
			t.Errorf("%s: %v", d.Name, in.Findings)
		}
	}
}

// Every fault that is put into real data is found, with its landmarks, and nothing else is.
func TestInspectFindsPlantedFaults(t *testing.T) {
	mirror := func(q [][]float64) {
		for _, p := range q {
			p[0] = -p[0]
		}
	}
	times := func(f float64) func([][]float64) {
		return func(q [][]float64) {
			for _, p := range q {
				floats.Scale(f, p)
			}
		}
	}
	exchange := func(l, m int) func([][]float64) { return func(q [][]float64) { q[l], q[m] = q[m], q[l] } }
	clean := MouseVertebrae()
	in, err := Inspect(clean)
	if err != nil {
		t.Fatal(err)
	}
	clean = clean.Without(in.Names()...)
	for _, c := range []struct {
		data      *Dataset
		specimens int // that many, the last ones
		spoil     func(q [][]float64)
		fault     Fault
		landmarks []int
		about     string
	}{
		{GorillaSkulls(), 1, exchange(2, 5), Swapped, []int{2, 5}, "landmarks 2 and 5 fit the others in each other's place"},
		{GorillaSkulls(), 20, exchange(0, 7), Swapped, []int{0, 7}, ""},
		{GorillaSkulls(), 20, mirror, Mirrored, nil, ""},
		{Brain3D(), 1, exchange(3, 17), Swapped, []int{3, 17}, ""},
		{Brain3D(), 25, mirror, Mirrored, nil, ""},
		{clean, 3, func(q [][]float64) { slices.Reverse(q[1:]) }, Relabelled, nil, ""},
		{clean, 3, func(q [][]float64) { slices.Reverse(q) }, Relabelled, nil, "its landmarks counted the other way round, counted from landmark 59"},
		{clean, 3, func(q [][]float64) { copy(q, slices.Concat(q[20:], q[:20])) }, Relabelled, nil, "counted from landmark 40"},
		{clean, 3, mirror, Mirrored, nil, "its mirror image"},
		{clean, 3, exchange(10, 11), OutOfOrder, []int{10, 11}, ""},
		{clean, 3, func(q [][]float64) { slices.Reverse(q[40:50]) }, OutOfOrder, []int{40, 41, 42, 43, 44, 45, 46, 47, 48, 49}, ""},
		{GorillaSkulls(), 2, func(q [][]float64) { slices.Reverse(q) }, Relabelled, nil, "its landmarks counted the other way round, counted from landmark 7"},
		{GorillaSkulls(), 2, func(q [][]float64) { copy(q, slices.Concat(q[1:], q[:1])) }, Relabelled, nil, "counted from landmark 7"},
		{Brain3D(), 2, func(q [][]float64) { copy(q, slices.Concat(q[3:], q[:3])) }, Relabelled, nil, "counted from landmark 21"},
		{Brain3D(), 1, times(1 / 25.4), OtherSize, nil, "its size is 0.038 times that of the others, the ratio of mm and inches"},
		{GorillaSkulls(), 20, times(0.001), OtherSize, nil, ""},
		{GorillaSkulls(), 1, times(2.54), OtherSize, nil, "its size is 2.7 times that of the others, the ratio of cm and inches"},
		{clean, 2, func(q [][]float64) { copy(q[7], q[3]) }, Coincident, []int{7}, "landmarks 3 and 7 are in one place"},
	} {
		d := c.data.Scale(1)
		rng := rand.New(rand.NewPCG(1, 2))
		var want []string
		for _, s := range d.Specimens[len(d.Specimens)-c.specimens:] {
			c.spoil(s.Points)
			angle := 2 * math.Pi * rng.Float64()
			for _, p := range s.Points {
				p[0], p[1] = math.Cos(angle)*p[0]-math.Sin(angle)*p[1], math.Sin(angle)*p[0]+math.Cos(angle)*p[1]
			}
			want = append(want, s.Name)
		}
		in, err := Inspect(d)
		if err != nil {
			t.Fatal(err)
		}
		got := in.Names(c.fault)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %v: %s\n%v", d.Name, c.fault, diff, in.Findings)
			continue
		}
		if f := in.Findings[0]; f.alike != "" && c.specimens > 1 && f.Fault == c.fault {
			if n := len(f.All); n != c.specimens || f.About != f.alike || f.Index != -1 || strings.Count(f.Options[len(f.Options)-1].Value, "; ") != n-1 {
				t.Errorf("%s, %v: %d of %d are in one finding: %v", d.Name, c.fault, n, c.specimens, f)
			}
		}
		for _, f := range in.Findings {
			if f.Fault != c.fault {
				if f.Fault != FarFromMean && c.fault != Coincident {
					t.Errorf("%s, %v: %v", d.Name, c.fault, f)
				}
				continue
			}
			if diff := cmp.Diff(c.landmarks, f.Landmarks); diff != "" {
				t.Errorf("%s, %v: %s", d.Name, c.fault, diff)
			}
			if c.specimens < 4 && c.fault != Mirrored && !strings.HasPrefix(f.About, c.about) {
				t.Errorf("%s, %v: %q, want %q", d.Name, c.fault, f.About, c.about)
			}
		}
	}
}

// Quantiles of one, three and four numbers by hand; the middle one is the median.
func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want []float64 // at 0, 1/4, 1/2, 3/4, 1
	}{
		{[]float64{5}, []float64{5, 5, 5, 5, 5}},
		{[]float64{4, 1, 2}, []float64{1, 1.5, 2, 3, 4}},
		{[]float64{8, 2, 4, 1}, []float64{1, 1.75, 3, 5, 8}},
	} {
		var got []float64
		for k := range 5 {
			got = append(got, quantile(c.x, float64(k)/4))
		}
		expect.Abs(t, fmt.Sprint("quantiles of ", c.x), got, c.want, 0)
	}
}

func TestInspectRefuses(t *testing.T) {
	d := GorillaSkulls()
	d.Specimens[3].Points[1][0] = math.NaN()
	_, err := Inspect(d)
	advised(t, err, "inspect: gorilla skulls", `specimen "female04": landmark 1 is [NaN -30]`)
	d.Specimens[3].Points = d.Specimens[3].Points[:7]
	_, err = Inspect(d)
	advised(t, err, "inspect: gorilla skulls", `specimen "female04"`, "7 landmarks")
}

func TestStrings(t *testing.T) {
	a, err := Procrustes(GorillaSkulls().Shapes())
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[fmt.Stringer]string{
		GorillaSkulls():         "gorilla skulls: 59 specimens of 8 landmarks in 2 dimensions; groups female (30), male (29)",
		CorpusCallosum():        "corpus callosum, 39 landmarks: 2 specimens of 39 landmarks in 2 dimensions, mm, closed outlines",
		a:                       fmt.Sprintf("59 shapes aligned, %.4g from their mean (root mean square), converged after %d iterations", a.RMS, a.Iterations),
		&Dataset{Name: "empty"}: "empty: 0 specimens of 0 landmarks in 0 dimensions",
	} {
		if got := value.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A specimen that is far from the mean because its landmarks have errors is no outlier where the errors are known; one without errors is.
func TestInspectWithErrors(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	d := &Dataset{Name: "simulated"}
	for i := range 20 {
		deviation := 0.03
		if i == 7 {
			deviation = 0.12
		}
		var points [][]float64
		for k := range 10 {
			x := []float64{math.Cos(float64(k)), 1.3 * math.Sin(float64(k)), 0.2 * float64(k)}
			for a := range x {
				x[a] += deviation * random.NormFloat64()
			}
			points = append(points, x)
		}
		d.Specimens = append(d.Specimens, Specimen{Name: fmt.Sprint(i), Points: points, Covariates: map[string]string{}})
	}
	far := func(errors ...float64) []string {
		for i, e := range errors {
			d.Specimens[i].Covariates[ErrorColumn] = fmt.Sprint(e)
		}
		return expect.Must(Inspect(d)).Names(FarFromMean)
	}
	if got := far(); !slices.Equal(got, []string{"7"}) {
		t.Errorf("without errors: %v", got)
	}
	errors := slices.Repeat([]float64{0.01}, 20)
	if got := far(errors...); !slices.Equal(got, []string{"7"}) {
		t.Errorf("with small errors: %v", got)
	}
	errors[7] = math.Sqrt(0.12 * 0.12 * 3 / 2) // along one direction of a surface
	if got := far(errors...); got != nil {
		t.Errorf("with its errors: %v", got)
	}
	d.Specimens[3].Covariates[ErrorColumn] = "-1"
	expect.Refused(t, expect.Error(Inspect(d)), ErrorColumn, `specimen "3"`, "-1")
	d.Specimens[3].Covariates[ErrorColumn] = ""
	expect.Refused(t, expect.Error(Inspect(d)), ErrorColumn, `specimen "3"`)
}
