package engine

import (
	"os"
	"testing"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/watch"
)

// described is a back end of which nothing but the description of its device is known.
type described struct {
	compute.Backend
	device string
}

func (b described) DeviceDescription(compute.DeviceNum) string { return b.device }

func (b described) Name() string { return "xla" }

// The device says what it is, and not the path of the plug-in: no C function is entered on a GPU, whatever its plug-in is called.
func TestDeviceIsAsked(t *testing.T) {
	real := expect.Must(Backend())
	if !onCPU(real) {
		t.Skip("the back end computes on no CPU")
	}
	for _, device := range []string{"NVIDIA H200", "cuda:0", "gfx942", "TPU v4", ""} {
		if onCPU(described{device: device}) {
			t.Errorf("%q is taken for a CPU", device)
		}
	}
	plugin := expect.Must(findPlugin())
	const name = "a function of this test"
	RegisterNative(name, unsafe.Pointer(new(int)))
	defer func() { delete(natives, name); delete(entered, name) }()
	enterNatives(described{device: "NVIDIA H200"}, plugin)
	if HasNative(name, nil) {
		t.Error("a C function was entered on a GPU")
	}
}

// Points that are centred before they become float32 lose nothing far away from the origin: 1/|x − y|² of points 1e6 away.
func TestFloat32OfPoints(t *testing.T) {
	f := Compile(func(x, y *graph.Node) *graph.Node {
		return graph.Reciprocal(graph.ReduceSum(graph.Square(graph.Sub(x, y)), -1))
	}, Float32(0, 1))
	for _, offset := range []float64{0, 1e4, 1e6, -1e9} {
		x, y := [][]float64{{offset, 1}, {offset + 0.25, 2}}, [][]float64{{offset + 0.5, 0}, {offset + 1, 4}}
		out := expect.Must(f.Call(x, y))
		expect.Rel(t, "inverse squares", out.Vector(0), []float64{1 / 1.25, 1 / 4.5625}, 1e-6)
	}
	_, err := f.Call([]float64{1, 2}, [][]float64{{1, 2}})
	expect.Refused(t, err, "argument 0 of shape [2], want points")
	_, err = Compile(func(x *graph.Node) *graph.Node { return x }, Float32(1)).Call([][]float64{{1}})
	expect.Refused(t, err, "Float32(1): want the numbers of arguments, 0 to 0")
}

// Programs of few numbers run on the CPU beside a GPU, those of many on the GPU, and each is written for its device. Results of one are
// arguments of the other. A batch of small problems is a large one.
func TestSmallProblemsRunOnTheCPU(t *testing.T) {
	real := expect.Must(Backend())
	if !onCPU(real) {
		t.Skip("the back end computes on no CPU")
	}
	defer func(b compute.Backend) { opened, small = b, nil }(opened)
	const name = "a function of this test"
	opened, small, entered[name] = described{real, "NVIDIA H200"}, real, true
	defer delete(entered, name)
	f := Compile(func(x *graph.Node) []*graph.Node {
		device := 0.0
		if ForGPU(x) {
			device = 1
		}
		if ForGPU(x) == HasNative(name, x) {
			device = 2
		}
		return []*graph.Node{graph.Scalar(x.Graph(), x.DType(), device), graph.Concatenate([]*graph.Node{x, x, x, x}, 0)}
	})
	var arg any = make([]float64, fewNumbers/2)
	for _, want := range []float64{0, 1, 1} { // of 256, 1024 and 4096 numbers
		out := expect.Must(f.Call(arg))
		expect.Abs(t, "the device", out.Scalar(0), want, 0)
		arg = out[1]
	}
	if OnCPU() || !ForGPU(nil) || HasNative(name, nil) {
		t.Error("large problems are written for the CPU")
	}
	if want := "NVIDIA H200; problems of at most 512 numbers: " + real.DeviceDescription(0); Devices() != want {
		t.Errorf("Devices: %q, want %q", Devices(), want)
	}
	for _, c := range []struct {
		shape []int
		small bool
	}{{[]int{39, 2}, true}, {[]int{512}, true}, {[]int{513}, false}, {[]int{16, 39, 2}, false}, {nil, true}} {
		if s := shapes.Make(dtypes.Float64, c.shape...); isSmall([]shapes.Shape{s}) != c.small {
			t.Errorf("%s is small: %v, want %v", s, !c.small, c.small)
		}
	}
	for variable, value := range map[string]string{deviceVariable: "cuda", compute.ConfigEnvVar: "xla:cuda"} { // whoever names a device has it
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			small = nil
			if openSmall(); small != nil {
				t.Error("small problems have a device of their own")
			}
		})
	}
	if openSmall(); os.Getenv(deviceVariable) == "" && os.Getenv(compute.ConfigEnvVar) == "" && (small == nil || !onCPU(small)) {
		t.Error("small problems have no CPU")
	}
}

// Searches whose calls are joined have the results of each alone, and a function that answers for one problem only is refused.
func TestTogether(t *testing.T) {
	expect.Must(Backend())
	t.Setenv(RecordVariable, t.TempDir()) // as on a GPU
	calls := 0
	square := Compile(func(x *graph.Node) *graph.Node { return graph.ReduceSum(graph.Square(x), -1) })
	cube := Compile(func(x, w *graph.Node) []*graph.Node { calls++; return []*graph.Node{graph.Mul(graph.Mul(x, x), x), w} })
	one := Compile(graph.ReduceAllSum)
	const n = 7
	got, errs := make([]float64, n), make([]error, n)
	ended := 0
	task := watch.Begin("searches", t.Context(), func(p watch.Progress) { ended = p.Iteration })
	Together(task, n, func(k int, call Caller) {
		x := []float64{float64(k), 1}
		if k > 4 {
			_, errs[k] = call(one, x)
		}
		for range k + 1 { // they end one after the other
			got[k] = expect.Must(call(square, x)).Scalar(0)
		}
		if k%2 == 0 {
			got[k] += expect.Must(call(cube, float64(k), []int{k, 3})).Scalar(0)
		}
	})
	for k, v := range got {
		want := float64(k*k + 1)
		if k%2 == 0 {
			want += float64(k * k * k)
		}
		expect.Abs(t, "result", v, want, 0)
		if k > 4 {
			expect.Refused(t, errs[k], "want an axis of these in front")
		}
	}
	if ended != n {
		t.Errorf("%d searches were reported, want %d", ended, n)
	}
	if calls > 2 {
		t.Errorf("a function was built %d times for %d searches", calls, n)
	}
}
